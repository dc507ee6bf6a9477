"""Train the reader: teachers (bge-small, twelve layers) on the labels, then a small student on the labels and the teachers' answers.

    python training/reader/train.py --data data.json.gz --unlabelled unlabelled.json.gz --bge bge_q.npz.xz --out OUT

Runs on a GPU in about fourteen minutes and writes OUT/reader.npz (src/holdfast/gate/reader.npz). With `--further reader.npz` instead of
`--bge` and `--unlabelled`, a released reader learns from the labels alone, in five minutes. Authors whose name begins with "test" are judged only.
"""
from __future__ import annotations

import argparse
import copy
import gzip
import json
import lzma
import math
import random
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HEADS = ("worth", "alone", "rule", "own", "norm", "change")
KINDS, RELATIONS, FEATURES = 9, 5, 16
OUT = len(HEADS) + KINDS + RELATIONS
dev = "cuda" if torch.cuda.is_available() else "cpu"
T0 = time.time()


def say(*what: object) -> None:
    print(f"[{time.time() - T0:6.1f}s]", *what, flush=True)


# --- models

class Layer(nn.Module):
    def __init__(self, h: int, inner: int, heads: int, drop: float) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(h, h) for _ in range(4))
        self.i, self.f = nn.Linear(h, inner), nn.Linear(inner, h)
        self.n1, self.n2 = nn.LayerNorm(h, 1e-12), nn.LayerNorm(h, 1e-12)
        self.d = nn.Dropout(drop)

    def forward(self, x, m):
        b, l, h = x.shape
        sp = lambda t: t.view(b, l, self.heads, h // self.heads).transpose(1, 2)
        a = F.scaled_dot_product_attention(sp(self.q(x)), sp(self.k(x)), sp(self.v(x)), attn_mask=m, dropout_p=.1 if self.training else 0.)
        x = self.n1(x + self.d(self.o(a.transpose(1, 2).reshape(b, l, h))))
        return self.n2(x + self.d(self.f(F.gelu(self.i(x)))))


class Reader(nn.Module):

    def __init__(self, h: int, inner: int, heads: int, layers: int, segments: int = 7, drop: float = .1) -> None:
        super().__init__()
        self.e = nn.Embedding(30522, h)
        self.e.weight.requires_grad = False  # so that the table can be shared with the other models
        self.marks = nn.Embedding(4, h)  # [CLS] [SEP] line, other
        self.p, self.s = nn.Embedding(320, h), nn.Embedding(segments, h)
        self.x = nn.Linear(FEATURES, h, bias=False)
        self.n, self.d = nn.LayerNorm(h, 1e-12), nn.Dropout(drop)
        self.layers = nn.ModuleList(Layer(h, inner, heads, drop) for _ in range(layers))
        self.head, self.early = nn.Linear(2 * h, OUT), nn.Linear(2 * h, OUT)  # after all layers, and after half of them
        nn.init.normal_(self.p.weight, std=.02); nn.init.normal_(self.s.weight, std=.02); nn.init.normal_(self.marks.weight, std=.02)

    def forward(self, ids, seg, sid, feats):
        """Logits of each sentence, final and early: sid says to which one (from 1) a token belongs, feats has a row of zeros first."""
        mask = ids > 0
        x = self.e(ids) + self.p.weight[:ids.shape[1]][None] + self.s(seg)
        kind = (ids == 101) * 1 + (ids == 102) * 2 + (ids == 1) * 3
        x = x + self.marks(kind) * (kind > 0)[..., None]
        x = x + self.x(feats).gather(1, sid[..., None].expand(-1, -1, x.shape[-1]))
        x = self.d(self.n(x))
        m = torch.zeros(mask.shape, device=x.device, dtype=x.dtype).masked_fill(~mask, -1e4)[:, None, None, :]
        one = F.one_hot(sid, feats.shape[1])[..., 1:].to(x.dtype)
        pooled = []
        for number, layer in enumerate(self.layers, 1):
            x = layer(x, m.to(x.dtype))
            if number in (len(self.layers) // 2, len(self.layers)):
                mean = torch.einsum("bls,bld->bsd", one.to(x.dtype), x) / one.sum(1).clamp(min=1)[..., None]
                pooled.append(self.d(torch.cat([x[:, :1].expand(-1, mean.shape[1], -1), mean], -1)))
        return self.head(pooled[1]), self.early(pooled[0])


def teacher(bge: dict, pick=range(12)) -> Reader:
    """bge-small, or some of its layers, with fresh heads."""
    pick = list(pick)
    model = Reader(384, 1536, 12, len(pick))
    with torch.no_grad():
        model.e.weight.copy_(bge["embeddings.word_embeddings.weight"])
        model.p.weight.copy_(bge["embeddings.position_embeddings.weight"][:320])
        types = bge["embeddings.token_type_embeddings.weight"]
        model.s.weight.copy_(types[0][None].repeat(7, 1)); model.marks.weight.zero_()
        model.n.weight.copy_(bge["embeddings.LayerNorm.weight"]); model.n.bias.copy_(bge["embeddings.LayerNorm.bias"])
        nn.init.zeros_(model.x.weight)
        for i, l in zip(pick, model.layers):
            P = f"encoder.layer.{i}."
            for mod, name in ((l.q, "attention.self.query"), (l.k, "attention.self.key"), (l.v, "attention.self.value"), (l.o, "attention.output.dense"), (l.i, "intermediate.dense"), (l.f, "output.dense"), (l.n1, "attention.output.LayerNorm"), (l.n2, "output.LayerNorm")):
                mod.weight.copy_(bge[P + name + ".weight"]); mod.bias.copy_(bge[P + name + ".bias"])
    return model.to(dev)


def released(path: Path) -> Reader:
    """The reader as it was released, to train it further; the table of tokens lies where the package keeps it."""
    with np.load(path) as z: arrays = {k: z[k] for k in z.files}
    w = {k[2:] if k.startswith("q:") else k: v.astype(np.float32) * arrays["s:" + k[2:]][:, None] if k.startswith("q:") else v.astype(np.float32) for k, v in arrays.items() if not k.startswith("s:") and k != "meta"}
    with np.load(path.parents[1] / "models/bert_384/tokens.npz") as z: w["e.weight"] = (z["codes"].astype(np.float32) - float(z["zero"])) * float(z["scale"])
    model = Reader(384, 1536, 12, 12)
    model.load_state_dict({k: torch.tensor(v) for k, v in w.items()})
    return model.to(dev)


def load_bge(path: Path) -> dict:
    z = np.load(BytesIO(lzma.open(path).read()))
    w = {}
    for k in z.files:
        if k.endswith("|q"):
            b = k[:-2]; q = z[k].astype(np.float32); s = z[b + "|s"]
            if b + "|z" in z.files: w[b] = (q - float(z[b + "|z"][0])) * float(s[0])
            elif b + "|T" in z.files: w[b] = (q * s).T.copy()
            else: w[b] = q * s[:, None]
        elif "|" not in k and not k.endswith(("_scale", "_zero_point")): w.setdefault(k, z[k].astype(np.float32))
    return {k: torch.tensor(v) for k, v in w.items()}


# --- data

class Bank:
    """Windows and the labels of their sentences on the device; a missing label is NaN, a missing sentence too."""

    def __init__(self, xs, rows=None, pairs=False):
        n, most, top = len(xs), max(len(x[0]) for x in xs), max(len(x[2]) for x in xs)
        ids, seg, sid, feats = np.zeros((n, most), np.int32), np.zeros((n, most), np.int8), np.zeros((n, most), np.int8), np.zeros((n, top + 1, FEATURES), np.float16)
        for r, x in enumerate(xs):
            ids[r, :len(x[0])] = x[0]; seg[r, :len(x[1])] = x[1]
            for k, ((a, b), f) in enumerate(zip(x[2], x[3]), 1): sid[r, a:b] = k; feats[r, k] = f
        self.n, self.top = n, top
        self.size, self.count = torch.tensor([len(x[0]) for x in xs]), torch.tensor([len(x[2]) for x in xs])
        self.ids, self.seg, self.sid, self.feats = (torch.tensor(v).to(dev) for v in (ids, seg, sid, feats))
        if rows is not None and not pairs:
            y, kind = np.full((n, top, len(HEADS)), np.nan, np.float32), np.full((n, top), -1, np.int64)
            for r, row in enumerate(rows):
                for k, one in enumerate(row["y"]):
                    y[r, k] = [one.get(h, math.nan) for h in HEADS]; kind[r, k] = one.get("kind", -1)
            self.y, self.kind = torch.tensor(y).to(dev), torch.tensor(kind).to(dev)
        if pairs: self.y = torch.tensor([r["y"] for r in rows]).to(dev)

    def get(self, idx):
        idx = torch.as_tensor(idx); n, k = int(self.size[idx].max()), int(self.count[idx].max()); at = idx.to(dev)
        return self.ids[at, :n].long(), self.seg[at, :n].long(), self.sid[at, :n].long(), self.feats[at, :k + 1].float()


def run(model, bank, bs: int = 512, which: int = 0) -> np.ndarray:
    """Logits of every sentence: (windows, most sentences, outputs)."""
    model.eval()
    order = torch.argsort(bank.size); out = np.zeros((bank.n, bank.top, OUT), np.float32)
    with torch.no_grad(), torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"):
        for i in range(0, bank.n, bs):
            at = order[i:i + bs]; o = model(*bank.get(at))[which].float().cpu().numpy(); out[at.numpy(), :o.shape[1]] = o
    return out


WEIGHTS = torch.tensor([1., .4, 1.3, 1.3, .4, 1.]).to(dev)


def loss_of(o, bank, idx, pos_rule: float = 2.):
    at = torch.as_tensor(idx).to(dev); k = o.shape[1]; y = bank.y[at, :k]; known = ~torch.isnan(y); y = torch.nan_to_num(y)
    w = WEIGHTS * known; w[..., 2] = w[..., 2] * torch.where(y[..., 2] > .5, pos_rule, 1.)
    n = len(HEADS); count = known.any(-1).sum().clamp(min=1)
    total = (F.binary_cross_entropy_with_logits(o[..., :n], y, reduction="none") * w).sum() / count
    return total + .3 * F.cross_entropy(o[..., n:n + KINDS].reshape(-1, KINDS), bank.kind[at, :k].reshape(-1), ignore_index=-1, reduction="sum") / count


def pair_loss(o, bank, idx):
    return F.cross_entropy(o[:, 0, len(HEADS) + KINDS:], bank.y[torch.as_tensor(idx).to(dev)], label_smoothing=.05)


def stream(pool):
    pool = list(pool)
    while True:
        random.shuffle(pool); yield from pool


def take(s, n): return [next(s) for _ in range(n)]


SENTENCES, PAIRS = (.3, 1.), (1., .5)
"""Weights of what is judged after all layers and after half of them: sentences are read after half, pairs after all."""
SHARES = (.13, .25, .13, .2, .29)
"""Of the relations in a batch: most pairs in the data are unrelated, and in use too, but little is learned of them."""


def mixed(rows):
    """Pairs in these shares, for ever."""
    by = [stream([i for i, r in enumerate(rows) if r["y"] == k]) for k in range(RELATIONS)]
    while True:
        yield next(by[random.choices(range(RELATIONS), SHARES)[0]])


def optimizer(model, lr, head_lr):
    dec = [p for n, p in model.named_parameters() if p.requires_grad and p.ndim > 1 and not n.startswith(("head", "early"))]
    nod = [p for n, p in model.named_parameters() if p.requires_grad and p.ndim <= 1 and not n.startswith(("head", "early"))]
    head = [p for n, p in model.named_parameters() if n.startswith(("head", "early"))]
    opt = torch.optim.AdamW([dict(params=dec, lr=lr, weight_decay=.01), dict(params=nod, lr=lr, weight_decay=0), dict(params=head, lr=head_lr, weight_decay=.01)], fused=dev == "cuda")
    return opt, [g["lr"] for g in opt.param_groups]


def split(rows): return [i for i, r in enumerate(rows) if r["author"] not in ("norms", "turns")], [i for i, r in enumerate(rows) if r["author"] in ("norms", "turns")]


def joined(*parts):
    """Inputs of several banks as one batch."""
    n, k = max(p[0].shape[1] for p in parts), max(p[3].shape[1] for p in parts)
    return tuple(torch.cat([F.pad(p[j], (0, n - p[j].shape[1])) if j < 3 else F.pad(p[j], (0, 0, 0, k - p[j].shape[1])) for p in parts]) for j in range(4))


def train_teacher(model, items, pairs, seed, steps, lr=5e-5, head_lr=1e-3, keep=0., seconds=0.):
    """`keep` is the weight of what the model said before, if it was trained already; `seconds` ends it earlier."""
    random.seed(seed); torch.manual_seed(seed); np.random.seed(seed)
    before = copy.deepcopy(model).eval() if keep else None; model.train(); began = time.time(); n = len(HEADS)
    opt, base = optimizer(model, lr, head_lr)
    B, P = Bank([r["x"] for r in items], items), Bank([r["x"] for r in pairs], pairs, True)
    chats, other = split(items); sc, so, sp = stream(chats), stream(other), mixed(pairs)
    for step in range(steps):
        done = (time.time() - began) / seconds if seconds else step / steps
        if done >= 1: break
        f = min(1, (done + 1 / steps) / .1) * (1 - done)
        for g, b in zip(opt.param_groups, base): g["lr"] = b * f
        idx = take(sc, 64) + take(so, 32); pidx = take(sp, 64)
        with torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"):
            both = model(*joined(B.get(idx), P.get(pidx)))
        loss = sum(a * loss_of(o[:len(idx)].float(), B, idx) + .8 * b * pair_loss(o[len(idx):].float(), P, pidx) for a, b, o in zip(SENTENCES, PAIRS, both))
        if before is not None:
            with torch.no_grad(), torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"): soft = before(*joined(B.get(idx), P.get(pidx)))
            for w, v, o, t in zip(SENTENCES, PAIRS, both, soft):
                o, t = o.float(), t.float(); there = (torch.arange(o.shape[1])[None] < B.count[torch.as_tensor(idx)][:, None]).to(dev); s, r = o[:len(idx), :there.shape[1]][there], t[:len(idx), :there.shape[1]][there]
                loss = loss + keep * w * F.binary_cross_entropy_with_logits(s[:, :n], torch.sigmoid(r[:, :n])) * n * .5
                loss = loss + keep * v * F.kl_div(F.log_softmax(o[len(idx):, 0, n + KINDS:], -1), F.softmax(t[len(idx):, 0, n + KINDS:], -1), reduction="batchmean")
        opt.zero_grad(set_to_none=True); loss.backward(); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.); opt.step()
        if step % 400 == 0: say("teacher", seed, step, steps, round(loss.item(), 3))
    return model


# --- measures

def auc(y, s):
    order = np.argsort(s, kind="stable"); r = np.empty(len(s)); r[order] = np.arange(1, len(s) + 1)
    n1 = y.sum(); n0 = len(y) - n1
    return float((r[y > 0].sum() - n1 * (n1 + 1) / 2) / max(n1 * n0, 1))


def ap(y, s):
    o = np.argsort(-s, kind="stable"); y = y[o]; c = np.cumsum(y)
    return float((c / np.arange(1, len(y) + 1) * y).sum() / max(y.sum(), 1))


def measures(out, rows):
    """By head: AUC, average precision, positives, all."""
    flat = [(out[i, k], y) for i, r in enumerate(rows) for k, y in enumerate(r["y"]) if y]
    got = {}
    for j, name in enumerate(HEADS):
        some = [(o[j], y[name] > .5) for o, y in flat if name in y and y[name] != .5]
        yes = np.array([v for _, v in some], float)
        if len(some) > 20 and 0 < yes.sum() < len(yes):
            z = np.array([o for o, _ in some]); got[name] = (round(auc(yes, z), 4), round(ap(yes, z), 4), int(yes.sum()), len(yes))
    kinds = [(o[len(HEADS) + 1:len(HEADS) + KINDS].argmax() + 1 == y["kind"]) for o, y in flat if y.get("kind", 0) > 0]
    if kinds: got["kind"] = round(float(np.mean(kinds)), 4)
    return got


def pair_measures(out, rows):
    z = out[:, 0, len(HEADS) + KINDS:]; y = np.array([r["y"] for r in rows]); p = z.argmax(1)
    rep = z[:, 1] - np.maximum(z[:, 3], z[:, 4])
    return dict(acc=round(float((p == y).mean()), 4), replaces_auc=round(auc((y == 1).astype(float), rep), 4), replaces_ap=round(ap((y == 1).astype(float), rep), 4),
                same_auc=round(auc((y == 0).astype(float), z[:, 0] - z[:, 1:].max(1)), 4), confusion=[[int(((y == a) & (p == b)).sum()) for b in range(5)] for a in range(5)])


def judged(name, model, items, pairs):
    """Print the measures for each group of authors that was not trained on: the word after "test_" up to a digit."""
    of = lambda r: r["author"].split("_")[1].rstrip("0123456789")
    for group in sorted({of(r) for r in items + pairs}):
        some, two = [r for r in items if of(r) == group], [r for r in pairs if of(r) == group]
        for which, early in enumerate(("", "early")):
            got = dict(items=measures(run(model, Bank([r["x"] for r in some]), which=which), some)) if some else {}
            if two: got["pairs"] = pair_measures(run(model, Bank([r["x"] for r in two]), which=which), two)
            say(name, group, early, json.dumps(got))


# --- student

def train_student(bge, items, pairs, X, soft_x, Q, soft_q, seed, steps, pick, soft=.7):
    """Some of bge's layers. X, Q: all inputs; soft_*: the teachers' logits for them."""
    random.seed(seed); torch.manual_seed(seed)
    model = teacher(bge, pick); model.train()
    opt, base = optimizer(model, 1.2e-4, 1e-3)
    B, P = Bank([r["x"] for r in items], items), Bank([r["x"] for r in pairs], pairs, True)
    chats, other = split(items); sc, so, sp, ss, sq = stream(chats), stream(other), mixed(pairs), stream(range(X.n)), stream(range(Q.n))
    sx, qx = torch.tensor(soft_x).to(dev), torch.tensor(soft_q).to(dev); n = len(HEADS)
    for step in range(steps):
        f = min(1, (step + 1) / (.06 * steps)) * max(0, (steps - step) / steps)
        for g, b in zip(opt.param_groups, base): g["lr"] = b * f
        idx, pidx, sidx, qidx = take(sc, 56) + take(so, 16), take(sp, 48), take(ss, 128), take(sq, 96)
        with torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"):
            both = model(*joined(B.get(idx), P.get(pidx), X.get(sidx), Q.get(qidx)))
        cuts = np.cumsum([0, len(idx), len(pidx), len(sidx), len(qidx)]); loss = 0.
        for w, v, o in zip(SENTENCES, PAIRS, both):
            o, q, s, t = (o.float()[a:b] for a, b in zip(cuts, cuts[1:]))
            hard = w * loss_of(o, B, idx) + .8 * v * pair_loss(q, P, pidx)
            there = torch.arange(s.shape[1])[None] < X.count[torch.as_tensor(sidx)][:, None]; s = s[there.to(dev)]
            ty, tq = sx[sidx][:, :there.shape[1]][there.to(dev)], qx[qidx][:, 0]
            dist = F.binary_cross_entropy_with_logits(s[:, :n], torch.sigmoid(ty[:, :n])) * n * .5 + .3 * F.kl_div(F.log_softmax(s[:, n:n + KINDS], -1), F.softmax(ty[:, n:n + KINDS], -1), reduction="batchmean")
            dist = w * dist + v * F.kl_div(F.log_softmax(t[:, 0, n + KINDS:], -1), F.softmax(tq[:, n + KINDS:], -1), reduction="batchmean")
            loss = loss + (1 - soft) * hard + soft * dist
        opt.zero_grad(set_to_none=True); loss.backward(); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.); opt.step()
        if step % 500 == 0: say("student", list(pick), step, steps, round(hard.item(), 3), round(dist.item(), 3))
    return model


BITS = 6  # of a weight; packed it takes two thirds of the size of eight


def save_student(model: Reader, path: Path, meta: dict) -> None:
    arrays = {}
    for name, value in model.state_dict().items():
        if name == "e.weight": continue
        v = value.float().cpu().numpy()
        if v.ndim == 2 and v.shape[0] > 8 and not name.startswith(("p.", "s.", "marks.")):
            scale = np.abs(v).max(1, keepdims=True) / (2 ** (BITS - 1) - 1) + 1e-12
            arrays["q:" + name] = np.round(v / scale).astype(np.int8); arrays["s:" + name] = scale[:, 0].astype(np.float32)
        else: arrays[name] = v.astype(np.float16)
    np.savez_compressed(path, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)


def main() -> None:
    a = argparse.ArgumentParser()
    for n in ("data", "out"): a.add_argument("--" + n, type=Path, required=True)
    for n in ("unlabelled", "bge"): a.add_argument("--" + n, type=Path)
    a.add_argument("--further", type=Path, help="a released reader.npz: train it further on the labels, without teachers"); a.add_argument("--seconds", type=float, default=0.)
    a.add_argument("--tsteps", type=int, default=2500); a.add_argument("--ssteps", type=int, default=4000); a.add_argument("--shapes", default="0.1.2.3.4.5.6.7.8.9.10.11", help="layers of bge of each student; nothing for teachers only")
    a.add_argument("--smoke", type=int, default=1); a.add_argument("--seeds", default="0,1,2", help="teachers; nothing if their answers are in OUT"); a.add_argument("--lives", type=int, default=3, help="how often a life is read for each other text"); a.add_argument("--cv", default="", help="authors, separated by commas: each is judged by a teacher that has not read it")
    g = a.parse_args()
    D = json.load(gzip.open(g.data)); U = json.load(gzip.open(g.unlabelled)) if g.unlabelled else dict(items=[], pairs=[])
    held = lambda r: r["author"].startswith("test")
    items, pairs = [r for r in D["items"] if not held(r)][::g.smoke], [r for r in D["pairs"] if not held(r)][::g.smoke]
    titems, tpairs = [r for r in D["items"] if held(r)][::g.smoke], [r for r in D["pairs"] if held(r)][::g.smoke]; U = {k: v[::g.smoke] for k, v in U.items()}
    say(dev, len(items), len(pairs), len(titems), len(tpairs), len(U["items"]), len(U["pairs"]))
    often = lambda rows: [r for r in rows for _ in range(g.lives if r["author"][0] in "wv" else 1)]  # lives are few and matter most
    if g.further:
        model = released(g.further)
        judged("BEFORE", model, titems, tpairs)
        model = train_teacher(model, often(items), often(pairs), 3, g.tsteps, 4e-5, 1e-4, keep=.5, seconds=g.seconds)
        save_student(model, g.out / "reader.npz", dict(shape=(384, 1536, 12, 12), heads=HEADS))
        return judged("AFTER", model, titems, tpairs)
    bge = load_bge(g.bge)
    bank = lambda rows: Bank([r["x"] for r in rows])
    for fold in filter(None, g.cv.split(",")):
        tr, va = [r for r in items if r["author"] != fold], [r for r in items if r["author"] == fold]
        ptr, pva = [r for r in pairs if r["author"] != fold], [r for r in pairs if r["author"] == fold]
        model = train_teacher(teacher(bge), tr, ptr, 1, g.tsteps)
        say("CV", fold, json.dumps(dict(items=measures(run(model, bank(va)), va) if va else None, pairs=pair_measures(run(model, bank(pva)), pva) if pva else None)))
    X, Q = Bank([r["x"] for r in items] + U["items"]), Bank([r["x"] for r in pairs] + U["pairs"])
    for seed in map(int, filter(None, g.seeds.split(","))):
        model = train_teacher(teacher(bge), often(items), often(pairs), 10 + seed, g.tsteps)
        np.savez(g.out / f"soft-{seed}.npz", x=((run(model, X) + run(model, X, which=1)) / 2).astype(np.float16), q=run(model, Q)[:, :1].astype(np.float16))
        judged(f"TEACHER {seed}", model, titems, tpairs)
    soft = [np.load(path) for path in sorted(g.out.glob("soft-*.npz"))]
    means = [np.mean([one[name].astype(np.float32) for one in soft], 0) for name in "xq"]
    for text in filter(None, g.shapes.split(",")):
        pick = [int(v) for v in text.split(".")]
        model = train_student(bge, often(items), often(pairs), X, means[0], Q, means[1], 5, g.ssteps, pick)
        save_student(model, g.out / "reader.npz", dict(shape=(384, 1536, 12, len(pick)), heads=HEADS))
        judged("STUDENT", model, titems, tpairs)
    say("done")


if __name__ == "__main__":
    main()
