"""Write the weights of holdfast-models: one packed ONNX file per model, int8 layers, without the table of word vectors.

    python training/ask/export.py ask    ask-encoder.npz  models/src/holdfast_models/ask.onnx.gz
    python training/ask/export.py rerank ask-reranker.npz models/src/holdfast_models/rerank.onnx.gz

Reads a state dict, saved by torch or as .npz (float arrays), in either naming:

    HuggingFace BERT     embeddings.position_embeddings.weight, embeddings.token_type_embeddings.weight,
                         embeddings.LayerNorm.{weight,bias}, encoder.layer.N.attention.self.{query,key,value}.*,
                         encoder.layer.N.attention.output.{dense,LayerNorm}.*, encoder.layer.N.intermediate.dense.*,
                         encoder.layer.N.output.{dense,LayerNorm}.*, and for rerank pooler.dense.* and classifier.*
                         (a leading `bert.` or `module.` is ignored)
    the ask trainer      pos, typ, n, layers.N.{q,k,v,o,n1,f1,f2,n2}, and for rerank pool and head

Word vectors are NOT read: training must freeze them at the table that holdfast ships (src/holdfast/models/bert_384/
tokens.npz, bge-small's as 8-bit codes). The number of layers is found from the names; width 384, 12 heads.
ask: the [CLS] state after the last layer, scaled to unit length. rerank: classifier(tanh(pooler([CLS]))), one number.

The graph takes `words` (1, length, 384), rows of the table, and `segments` (1, length), 0 or 1, and returns `out`: (384,)
or (1,). No mask: one text at a time, so that a result never depends on what else is asked. After writing, the file's
sha256 is put into models/src/holdfast_models/__init__.py (FILES). Needs numpy; torch only for .pt files.
"""
import gzip, hashlib, re, struct, sys
from pathlib import Path
import numpy as np

WIDTH, HEADS, POSITIONS = 384, 12, 256

# --- protobuf, as far as an ONNX file needs it


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7, "float16": 10}


class Graph:
    def __init__(self):
        self.nodes, self.tensors, self.count = [], [], 0

    def tensor(self, array):
        self.count += 1
        name, array = f"w{self.count}", np.ascontiguousarray(array)
        dims = b"".join(field(1, int(one)) for one in array.shape)
        self.tensors.append(dims + field(2, TYPES[str(array.dtype)]) + field(8, name) + field(9, array.tobytes()))
        return name

    def node(self, op, *inputs, outputs=1, domain="", **attributes):
        self.count += 1
        names = [f"x{self.count}_{at}" for at in range(outputs)]
        data = b"".join(field(1, one) for one in inputs) + b"".join(field(2, one) for one in names)
        data += field(3, f"n{self.count}") + field(4, op)
        for key, value in attributes.items():
            kind = field(2, value) + field(20, 1) if isinstance(value, float) else field(3, value) + field(20, 2)
            data += field(5, field(1, key) + kind)
        self.nodes.append(data + (field(7, domain) if domain else b""))
        return names[0] if outputs == 1 else names

    def own(self, op, *inputs, **rest):
        return self.node(op, *inputs, domain="com.microsoft", **rest)

    def model(self, name, inputs, output):
        def info(name, kind, shape):
            dims = b"".join(field(1, field(1, one) if isinstance(one, int) else field(2, one)) for one in shape)
            return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))

        self.nodes.append(field(1, output[0]) + field(2, "out") + field(4, "Identity") + field(3, "last"))
        graph = b"".join(field(1, one) for one in self.nodes) + field(2, name)
        graph += b"".join(field(5, one) for one in self.tensors)
        graph += b"".join(field(11, info(*one)) for one in inputs) + field(12, info("out", 1, output[1]))
        opsets = field(8, field(1, "") + field(2, 17)) + field(8, field(1, "com.microsoft") + field(2, 1))
        return field(1, 8) + field(2, "holdfast") + field(7, graph) + opsets


# --- the network

NAMES = (("attention.self.query", "q"), ("attention.self.key", "k"), ("attention.self.value", "v"),
         ("attention.output.dense", "o"), ("attention.output.LayerNorm", "n1"), ("intermediate.dense", "f1"),
         ("output.dense", "f2"), ("output.LayerNorm", "n2"))
TOP = (("embeddings.position_embeddings", "pos"), ("embeddings.token_type_embeddings", "typ"),
       ("embeddings.LayerNorm", "n"), ("pooler.dense", "pool"), ("classifier", "head"))


def read(path):
    if path.suffix == ".npz":
        state = dict(np.load(path))
    else:
        import torch
        state = {key: value.float().numpy() for key, value in torch.load(path, map_location="cpu").items()}
    found = {}
    for key, value in state.items():
        key = re.sub(r"^(?:(?:module|model|bert)\.)+", "", key)
        for long, short in TOP:
            key = re.sub(rf"^{re.escape(long)}\.", f"{short}.", key)
        key = key.replace("encoder.layer.", "layers.")
        for long, short in NAMES:
            key = re.sub(rf"^(layers\.\d+)\.{re.escape(long)}\.", rf"\1.{short}.", key)
        found[key] = np.asarray(value, np.float32)
    return found


BITS = 6
"""Of a weight: the same answers as 8 on LoCoMo (recall@10 .862 and .859), and two thirds of the size once packed."""


def packed(data):
    return gzip.compress(data, 9, mtime=0)


def build(weights, kind, bits=BITS):
    layers = 1 + max(int(key.split(".")[1]) for key in weights if key.startswith("layers."))
    most = 2 ** (bits - 1) - 1
    g = Graph()

    def linear(x, *names):  # one product for several matrices that read the same input
        matrix = np.concatenate([weights[f"{one}.weight"] for one in names])  # rows are outputs
        bias = np.concatenate([weights[f"{one}.bias"] for one in names])
        scale = np.maximum(np.abs(matrix).max(1) / most, 1e-12)
        codes = np.rint(matrix / scale[:, None]).astype(np.int8).T
        parts = codes, scale.astype(np.float32), np.zeros(len(bias), np.int8), bias
        return g.own("DynamicQuantizeMatMul", x, *(g.tensor(part) for part in parts))

    def norm(name):
        return g.tensor(weights[f"{name}.weight"]), g.tensor(weights[f"{name}.bias"])

    zero, one = g.tensor(np.array([0], np.int64)), g.tensor(np.array([1], np.int64))
    length = g.node("Slice", g.node("Shape", "words"), one, g.tensor(np.array([2], np.int64)))
    positions = g.node("Slice", g.node("Cast", g.tensor(weights["pos.weight"][:POSITIONS].astype(np.float16)), to=1),
                       zero, length, zero)
    kinds = g.node("Gather", g.tensor(weights["typ.weight"]), "segments")
    x = g.node("LayerNormalization", g.node("Add", g.node("Add", "words", positions), kinds), *norm("n"),
               axis=-1 & (2**64 - 1), epsilon=1e-12)
    for number in range(layers):
        p = f"layers.{number}"
        asked = x
        if number == layers - 1:  # nothing but [CLS] is read after the last layer
            asked = g.node("Slice", x, zero, one, one)
            q = linear(asked, f"{p}.q")
            k, v = g.node("Split", linear(x, f"{p}.k", f"{p}.v"), g.tensor(np.array([WIDTH] * 2, np.int64)),
                          outputs=2, axis=2)
        else:
            q, k, v = g.node("Split", linear(x, f"{p}.q", f"{p}.k", f"{p}.v"),
                             g.tensor(np.array([WIDTH] * 3, np.int64)), outputs=3, axis=2)
        mixed = g.own("MultiHeadAttention", q, k, v, num_heads=HEADS)
        x = g.own("SkipLayerNormalization", linear(mixed, f"{p}.o"), asked, *norm(f"{p}.n1"), epsilon=1e-12)
        inner = g.own("Gelu", linear(x, f"{p}.f1"))
        x = g.own("SkipLayerNormalization", linear(inner, f"{p}.f2"), x, *norm(f"{p}.n2"), epsilon=1e-12)
    cls = g.node("Squeeze", x, g.tensor(np.array([0, 1], np.int64)))
    if kind == "ask":
        out, shape = g.node("LpNormalization", cls, axis=-1 & (2**64 - 1), p=2), [WIDTH]
    else:
        def dense(x, name):
            return g.node("Add", g.node("MatMul", x, g.tensor(weights[f"{name}.weight"].T)), g.tensor(weights[f"{name}.bias"]))

        out, shape = dense(g.node("Tanh", dense(cls, "pool")), "head"), [1]
    return g.model(kind, [("words", 1, [1, "length", WIDTH]), ("segments", 7, [1, "length"])], (out, shape)), layers


if __name__ == "__main__":
    kind, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    assert kind in ("ask", "rerank"), "the first argument is ask or rerank"
    data, layers = build(read(source), kind, int(sys.argv[4]) if len(sys.argv) > 4 else BITS)
    data = packed(data)
    target.write_bytes(data)
    print(f'"{target.name}": "{hashlib.sha256(data).hexdigest()}",  # {layers} layers, {len(data) / 1e6:.1f} MB')
