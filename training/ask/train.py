"""Train the ask models: a question finds the turn that answers it.

    python training/ask/train.py --data DIR --work build/ask --out OUT --part 1
    python training/ask/train.py ... --part 2 --lives bench/lives/courier.json
    python training/ask/train.py ... --part 3

DIR holds what is not in the repository (training/ask/README.md): bge_q.npz.xz (bge-small, MIT), vocab.txt, the static
model, train_docs.json.xz (questions of public sets, by licence) and c_*.json.gz (candidates of development sets).
Part 1 trains a cross-encoder of twelve layers, the teacher; part 2 the encoder that is released; part 3 a reranker of
six layers. Each takes four to nine minutes on one H200. The word table stays frozen, so all models share it.
"""
from __future__ import annotations

import argparse
import gzip
import io
import json
import lzma
import queue
import random
import re
import threading
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tokenizers import BertWordPieceTokenizer

T0 = time.time()
dev = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = True
CLS, SEP = 101, 102
QUESTION, TURN, CONTEXT, PLAIN = 40, 112, 32, 126
"""Tokens of a question, of a turn and of the turn before it in a pair, and of a turn by itself."""


def say(*what: object) -> None:
    print(f"[{time.time() - T0:6.1f}s]", *what, flush=True)


# --- models

class Layer(nn.Module):
    def __init__(s, d: int = 384, heads: int = 12, inner: int = 1536) -> None:
        super().__init__()
        s.heads = heads
        s.q, s.k, s.v, s.o = (nn.Linear(d, d) for _ in range(4))
        s.i, s.f = nn.Linear(d, inner), nn.Linear(inner, d)
        s.n1, s.n2, s.drop = nn.LayerNorm(d, 1e-12), nn.LayerNorm(d, 1e-12), nn.Dropout(.1)

    def forward(s, x, mask):
        b, l, d = x.shape
        split = lambda t: t.view(b, l, s.heads, d // s.heads).transpose(1, 2)
        a = F.scaled_dot_product_attention(split(s.q(x)), split(s.k(x)), split(s.v(x)), attn_mask=mask)
        x = s.n1(x + s.drop(s.o(a.transpose(1, 2).reshape(b, l, d))))
        return s.n2(x + s.drop(s.f(F.gelu(s.i(x)))))


class Bert(nn.Module):
    def __init__(s, layers: int, d: int = 384) -> None:
        super().__init__()
        s.word, s.pos, s.typ, s.n = nn.Embedding(30522, d), nn.Embedding(512, d), nn.Embedding(2, d), nn.LayerNorm(d, 1e-12)
        s.layers = nn.ModuleList(Layer() for _ in range(layers))
        s.pool, s.head, s.drop = nn.Linear(d, d), nn.Linear(d, 1), nn.Dropout(.1)
        s.word.weight.requires_grad_(False); s.pos.weight.requires_grad_(False)

    def hidden(s, ids, types):
        mask = (ids != 0)[:, None, None, :]
        x = s.drop(s.n(s.word(ids) + s.pos.weight[:ids.shape[1]][None] + s.typ(types)))
        for layer in s.layers: x = layer(x, mask)
        return x

    def score(s, ids, types): return s.head(torch.tanh(s.pool(s.hidden(ids, types)[:, 0])))[:, 0]

    def vector(s, ids, types): return F.normalize(s.hidden(ids, types)[:, 0].float(), dim=-1)


NAMES = dict(q="attention.self.query", k="attention.self.key", v="attention.self.value", o="attention.output.dense", n1="attention.output.LayerNorm", i="intermediate.dense", f="output.dense", n2="output.LayerNorm")


def load_bge(path: Path) -> Bert:
    z, w = np.load(io.BytesIO(lzma.open(path).read())), {}
    for k in z.files:
        if k.endswith("|q"):
            b = k[:-2]; q = z[k].astype(np.float32); s = z[b + "|s"]
            w[b] = (q - float(z[b + "|z"][0])) * float(s[0]) if b + "|z" in z.files else (q * s).T.copy() if b + "|T" in z.files else q * s[:, None]
        elif "|" not in k and not k.endswith(("_scale", "_zero_point")): w.setdefault(k, z[k].astype(np.float32))
    m = Bert(12); t = lambda k: torch.tensor(w[k])
    with torch.no_grad():
        for mine, theirs in (("word", "word_embeddings"), ("pos", "position_embeddings"), ("typ", "token_type_embeddings")): getattr(m, mine).weight.copy_(t(f"embeddings.{theirs}.weight"))
        m.n.weight.copy_(t("embeddings.LayerNorm.weight")); m.n.bias.copy_(t("embeddings.LayerNorm.bias"))
        for i, layer in enumerate(m.layers):
            for mine, theirs in NAMES.items():
                for part in ("weight", "bias"): getattr(getattr(layer, mine), part).copy_(t(f"encoder.layer.{i}.{theirs}.{part}"))
        m.head.weight.normal_(0, .02); m.head.bias.zero_(); nn.init.eye_(m.pool.weight); m.pool.bias.zero_()
    return m


def shrink(big: Bert, pick: list[int]) -> Bert:
    m, state = Bert(len(pick)), {}
    for k, v in big.state_dict().items():
        if not k.startswith("layers."): state[k] = v
        elif int(k.split(".")[1]) in pick: state[f"layers.{pick.index(int(k.split('.')[1]))}.{k.split('.', 2)[2]}"] = v
    m.load_state_dict(state)
    return m


def save(m: Bert, path: Path, kind: str) -> None:
    """Half precision, under the names that export.py reads; the word table is shared and not kept."""
    left_out = ("word", "pool", "head") if kind == "encoder" else ("word",)
    kept = {name: p.detach().half().cpu().numpy() for name, p in m.named_parameters() if not name.startswith(left_out)}
    np.savez_compressed(path, **{name.replace(".i.", ".f1.").replace(".f.", ".f2."): value for name, value in kept.items()})
    say("saved", path, round(path.stat().st_size / 1e6, 1), "MB")


# --- texts

MONTHS = "January February March April May June July August September October November December".split()
PEOPLE = "Aaron Abena Adele Ahmed Aisha Alba Alec Alma Amara Amir Ana Andre Anika Anton Ariel Arlo Asha Astrid Bea Ben Bianca Boris Bruno Callum Carla Cecil Chloe Clara Cora Cyrus Dana Daria Dora Drew Dylan Elena Eli Elsa Emeka Emil Enzo Erin Esme Eva Ezra Farah Felix Fiona Flora Gemma Gita Greta Hana Hank Hassan Hugo Ian Ines Ingrid Ira Isla Ivan Ivy Jana Jared Jonah Josie Juno Kai Kara Keiko Kenji Kira Lara Leah Lena Leo Lila Liam Lola Luca Mabel Maeve Magnus Malik Marco Mateo Maya Mei Mila Milo Mona Nadia Naomi Nate Nico Nina Noor Olga Omar Oscar Otto Owen Pablo Paula Petra Pia Quinn Rafael Rani Remy Rhea Rita Rosa Rowan Ruth Salma Samir Sana Sasha Selma Seth Simon Sofia Stella Sven Talia Tara Theo Tina Uma Vera Victor Viola Wanda Yara Yusuf Zara Zeke Zoe".split()
WHO = re.compile(r"\b(the|this) (author|reviewer|writer|poster|customer|buyer|speaker|user|OP|person|narrator)\b", re.I)
YEAR = re.compile(r"\b(20[12]\d)\b")
COPIES = dict(own=8, friendsqa=3, histories=2)
OF_ONE = ("own", "histories")
"""Sources in which a question means one person: what somebody else says may look like its answer and is no negative."""
SHARE = {"fairytale": .8, "squadshifts-new_wiki": .8}


def read_chats(folder: Path) -> list[dict]:
    """Our own chats: `## kind`, `@ date`, `U label: text`, `? question | labels` (`??`: nothing answers it)."""
    docs: list[dict] = []
    for path in sorted(folder.glob("*.txt")):
        doc: dict = {}
        for line in [*path.read_text(encoding="utf-8").splitlines(), "## end"]:
            if line.startswith("## "):
                if doc.get("qs"): docs.append(doc)
                doc = dict(src="own", kind=line[3:].strip(), turns=[], dates=[], sess=[], qs=[], un=[], lab={}); date = "2024-01-01"
            elif line.startswith("@ "): date = line[2:12]
            elif m := re.match(r"^([ABUS])(?: ([a-z]{1,2}))?: (.*)$", line):
                if m[2]: doc["lab"][m[2]] = len(doc["turns"])
                doc["turns"].append((m[1], m[3])); doc["dates"].append(date); doc["sess"].append(date)
            elif line.startswith("?? "): doc["un"].append(line[3:].strip())
            elif line.startswith("? ") and "|" in line:
                q, _, labels = line[2:].rpartition("|"); gold = [doc["lab"].get(x.strip()) for x in labels.split(",")]
                if gold and None not in gold: doc["qs"].append((q.strip(), sorted(gold)))
    return docs


def unpacked(path: Path) -> str:
    return lzma.decompress(path.read_bytes()).decode()


def read_histories(root: Path) -> list[dict]:
    """Questions about texts that were labelled for other models: training/ask/questions/NAME.jsonl names their source."""
    docs: list[dict] = []
    for path in sorted((root / "ask/questions").glob("*.jsonl.xz")):
        name = path.name.split(".")[0]
        texts = dict(histories_of(root, name))
        for line in unpacked(path).splitlines():
            row = json.loads(line); turns = texts[row["id"]]
            docs.append(dict(src="histories", kind="history", author=name, turns=turns, dates=["2024-01-01"] * len(turns), sess=[0] * len(turns), qs=[(q, sorted(g)) for q, g in row["qs"] if g and max(g) < len(turns)], un=row["un"]))
    return docs


def histories_of(root: Path, name: str):
    """`miniN`: people who change their minds; `chats_N_M`: labelled chats; `labels_…`: labelled dialogues."""
    kind, *parts = name.split("_")
    if kind.startswith("mini"):
        for line in unpacked(root / f"reader/labels/change/{name}.jsonl.xz").splitlines():
            if line.strip(): row = json.loads(line); yield row["id"], [("U", t) for t in [*row["early"], *(one["turn"] for one in row["later"])]]
    elif kind == "chats":
        for part in parts:
            chats: list = []
            for line in unpacked(root / f"reader/labels/chats/l{part}.txt.xz").splitlines():
                if line.startswith("## "): chats.append((line[3:].strip(), []))
                elif line.startswith("A "): chats[-1][1].append(("A", line[2:]))
                elif line.startswith("+ ") and chats[-1][1]: chats[-1][1][-1] = (chats[-1][1][-1][0], f"{chats[-1][1][-1][1]} {line[6:]}")
                elif line.startswith(("U ", "+ ")): chats[-1][1].append(("U", line[6:]))
            yield from chats
    else:
        found: dict = {}
        for part in parts:
            for line in (root / f"labels/{part.replace('-', '_')}.jsonl").read_text(encoding="utf-8").splitlines():
                row = json.loads(line); who = dict(user="U", assistant="A").get(row["speaker"], row["speaker"])
                found.setdefault(f"{part.replace('-', '_')}/{re.sub(r'-[a-z]$', '', row['dialogue'])}", []).append((who, row["text"]))
        yield from found.items()


def day(ymd: str) -> str:
    y, m, d = (int(v) for v in ymd.split("-"))
    return f"{d} {MONTHS[m - 1]} {y}"


def render(d: dict, seed: int):
    """One rendering of a document: turns (speaker, date, text), questions, sessions."""
    r = random.Random(seed)
    if d["src"] == "own":
        shift = r.randint(-2, 2); move = lambda t: YEAR.sub(lambda m: str(int(m[1]) + shift), t)
        if d["kind"] == "friends": a, b = r.sample(PEOPLE, 2); who = dict(A=a, B=b)
        else: a, b, who = "", "", dict(U="user", S="assistant", A="assistant", B="user")
        put = lambda t: move(t.replace("{A}", a).replace("{B}", b))
        turns = [(who[s], day(move(dt)), put(t)) for (s, t), dt in zip(d["turns"], d["dates"])]
        return turns, [(put(q), g) for q, g in d["qs"]] + [(put(q), []) for q in d["un"]], d["sess"]
    if d["src"] == "histories":
        shift = r.randint(-2, 2); move = lambda t: YEAR.sub(lambda m: str(int(m[1]) + shift), t)
        turns = [(dict(U="user", A="assistant").get(s, s), "", move(t)) for s, t in d["turns"]]
        return turns, [(move(q), g) for q, g in d["qs"]] + [(move(q), []) for q in d["un"]], d["sess"]
    u = r.random(); name = r.choice(PEOPLE) if u < .6 else "user" if u < .8 else ""
    date = day(f"{r.randint(2018, 2026)}-{r.randint(1, 12)}-{r.randint(1, 28)}") if r.random() < .7 else ""
    turns, qs = d["turns"], d["qs"]
    if d["kind"] == "chat":
        first = lambda s: " and ".join(x.split()[0] for x in s.split(", ")[:2] if x) if d["src"] == "friendsqa" else s
        return [(first(s), date, t) for s, t in turns], qs, [0] * len(turns)
    loose = d["src"] in ("strategyqa", "selqa")
    if not loose and r.random() < .4:  # join sentences into longer turns
        new, where, i = [], {}, 0
        while i < len(turns):
            k = r.randint(1, 3)
            for j in range(i, min(i + k, len(turns))): where[j] = len(new)
            new.append(("", " ".join(x[1] for x in turns[i:i + k]))); i += k
        turns, qs = new, [(q, sorted({where[x] for x in g})) for q, g in qs]
    if name and name != "user": qs = [(WHO.sub(name, q) if r.random() < .8 else q, g) for q, g in qs]
    return [(name, date, t) for _, t in turns], qs, list(range(len(turns))) if loose else [0] * len(turns)


class Pool:
    """All turns and questions as token ids."""

    def __init__(s, docs: list[dict], encode, seed: int = 0) -> None:
        r = random.Random(seed); text, pre, who = [], [], []
        s.prev, s.src, doc, q, s.gold, s.qsrc, qdoc = [], [], [], [], [], [], []
        for n, d in enumerate(docs):
            for c in range(COPIES.get(d["src"], 1)):
                turns, qs, sess = render(d, seed * 1_000_003 + n * 64 + c); at = len(text)
                for i, (name, dt, t) in enumerate(turns):
                    text.append(t); pre.append(f"{name}{', ' + dt if dt else ''}: " if name or dt else ""); who.append(f"{name}: " if name else "")
                    s.src.append(d["src"]); doc.append(n * 64 + c); s.prev.append(at + i - 1 if i and sess[i] == sess[i - 1] else -1)
                for question, g in qs:
                    if r.random() <= SHARE.get(d["src"], 1): q.append(question); s.gold.append([at + x for x in g]); s.qsrc.append(d["src"]); qdoc.append(n * 64 + c)
        s.doc, s.qdoc = np.array(doc), np.array(qdoc)
        s.t, s.p, s.w, s.q = encode(text), encode(pre), encode(who), encode(q)

    def pair(s, qi: int, ti: int, context: bool):
        before = s.w[s.prev[ti]] + s.t[s.prev[ti]] if context and s.prev[ti] >= 0 else None
        return pair(s.q[qi], s.p[ti], s.t[ti], before)


def pair(q, pre, t, before):
    a = [CLS, *q[:QUESTION], SEP]; b = [*pre[:16], *t[:TURN], SEP]
    if before is not None: b += [*before[:CONTEXT], SEP]
    return a + b, [0] * len(a) + [1] * len(b)


def alone(t, most=PLAIN): return [CLS, *t[:most], SEP], [0] * (min(len(t), most) + 2)


def pad(seqs):
    n = (max(len(s[0]) for s in seqs) + 7) // 8 * 8; ids, types = np.zeros((len(seqs), n), np.int64), np.zeros((len(seqs), n), np.int64)
    for i, (a, b) in enumerate(seqs): ids[i, :len(a)] = a; types[i, :len(b)] = b
    return torch.from_numpy(ids), torch.from_numpy(types)


@torch.no_grad()
def embed(model, seqs, bs=2048):
    order = sorted(range(len(seqs)), key=lambda i: len(seqs[i])); out = torch.zeros(len(seqs), 384, device=dev, dtype=torch.float16); model.eval()
    for i in range(0, len(order), bs):
        at = order[i:i + bs]; ids, types = pad([alone(seqs[j]) for j in at])
        with torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"): out[torch.tensor(at, device=dev)] = model.vector(ids.to(dev), types.to(dev)).half()
    return out


def static(path: Path):
    z = np.load(path); rows = next(z[k] for k in z.files if z[k].ndim == 2).astype(np.float32); scale = [z[k] for k in z.files if z[k].ndim == 1]
    table = torch.tensor(rows * scale[0].astype(np.float32)[:, None] if scale else rows, device=dev)
    def f(seqs):
        out = []
        for i in range(0, len(seqs), 4096):
            b = seqs[i:i + 4096]; flat = torch.tensor([t for q in b for t in (q[:200] or [0])], device=dev); off = torch.tensor(np.cumsum([0] + [len(q[:200]) or 1 for q in b])[:-1], device=dev)
            out.append(F.normalize(F.embedding_bag(flat, table, off, mode="mean"), dim=-1).half())
        return torch.cat(out)
    return f


def mine(P: Pool, vectors, per=24) -> None:
    """Hard negatives of each question: the nearest of its own document, and of others of the same source."""
    tv, qv = vectors(P.t), vectors(P.q); srcs, qs, doc = np.array(P.src), np.array(P.qsrc), torch.tensor(P.doc, device=dev)
    P.hard, P.cross = [None] * len(P.q), [None] * len(P.q)
    for s in sorted(set(P.qsrc)):
        ti, qi = np.where(srcs == s)[0], np.where(qs == s)[0]; V, dd = tv[torch.tensor(ti, device=dev)], doc[torch.tensor(ti, device=dev)]
        for i in range(0, len(qi), 512):
            b = qi[i:i + 512]; S = (qv[torch.tensor(b, device=dev)] @ V.T).float(); mine_ = torch.tensor(P.qdoc[b], device=dev)[:, None]
            inside = S.masked_fill(dd[None] != mine_, -9).topk(min(per, S.shape[1]), 1)
            outside = S.masked_fill(dd[None] // 64 == mine_ // 64, -9).topk(min(per * 3, S.shape[1]), 1)
            iv, ii, ov, oi = (x.cpu().numpy() for x in (inside.values, inside.indices, outside.values, outside.indices))
            for r, q in enumerate(b):
                gold = set(P.gold[q]); P.hard[q] = [int(ti[k]) for v, k in zip(iv[r], ii[r]) if v > -5 and int(ti[k]) not in gold]; P.cross[q] = [] if s == "histories" else [int(ti[k]) for v, k in zip(ov[r], oi[r]) if v > -5][2:]
    P.of = {s: np.where(srcs == s)[0] for s in set(P.src)}


def lists(P: Pool, K: int, seed: int, unanswered: bool):
    """Questions with K candidates each, the right one first; with `unanswered`, also questions that have none."""
    r = random.Random(seed); order = list(range(len(P.q))); r.shuffle(order)
    for q in order:
        if not P.gold[q] and not unanswered: continue
        hard, many = P.hard[q], P.qsrc[q] in ("own", "friendsqa", "histories"); n = min(len(hard), K * 3 // 5 if many else K * 2 // 3)
        neg = hard[:n // 2]; rest = hard[n // 2:]; neg = neg + r.sample(rest, min(len(rest), n - len(neg)))
        if P.cross[q] and K - 3 - len(neg) > 0: neg += r.sample(P.cross[q], min(len(P.cross[q]), K - 3 - len(neg)))
        src = P.of[P.qsrc[q]]
        while len(neg) < K - 1:
            x = int(src[r.randrange(len(src))])
            if x not in P.gold[q]: neg.append(x)
        yield q, [r.choice(P.gold[q]) if P.gold[q] else hard[-1] if hard else neg[-1], *neg[:K - 1]]


def batches(P: Pool, K: int, B: int, seed: int, make, unanswered=False):
    Q: queue.Queue = queue.Queue(24)
    def work():
        big = []
        def flush():
            big.sort(key=lambda z: max(len(P.t[t]) for t in z[1])); parts = [big[i:i + B] for i in range(0, len(big), B)]; random.Random(seed).shuffle(parts)
            for c in parts: Q.put((make(P, c, seed), len(c)))
            big.clear()
        for x in lists(P, K, seed, unanswered):
            big.append(x)
            if len(big) == B * 24: flush()
        flush(); Q.put(None)
    threading.Thread(target=work, daemon=True).start()
    while (x := Q.get()) is not None: yield x


def make_pairs(P, c, seed):
    r = random.Random(seed + c[0][0])
    return pad([P.pair(q, t, r.random() > .2) for q, ts in c for t in ts]), None


def make_both(P, c, seed):
    """Questions and turns by themselves, and the same as pairs for the teacher."""
    flags = torch.tensor([[bool(P.gold[q]), P.qsrc[q] in OF_ONE] for q, _ in c])
    return (pad([alone(P.q[q], QUESTION) for q, _ in c]), pad([alone(P.t[t]) for _, ts in c for t in ts]), flags), make_pairs(P, c, seed)[0]


def trained(m): return [p for p in m.parameters() if p.requires_grad]


def schedule(opt, lr, seconds, step, t1):
    done = (time.time() - t1) / seconds
    for g in opt.param_groups: g["lr"] = lr * min(1, (step + 1) / 100) * max(.02, 1 - done)
    return done < 1


def train_cross(m, P, seconds, lr, name, K=16, B=64, teacher=None, alpha=.4):
    m.to(dev); opt = torch.optim.AdamW(trained(m), lr=lr, weight_decay=.01, fused=dev == "cuda"); t1, step, e = time.time(), 0, 0
    while True:
        for ((ids, types), _), n in batches(P, K, B, 1000 * e + 17, make_pairs):
            if not schedule(opt, lr, seconds, step, t1): m.eval(); say(name, "steps", step); return m
            ids, types = ids.to(dev, non_blocking=True), types.to(dev, non_blocking=True); m.train()
            with torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"): s = m.score(ids, types)
            s = s.float().view(n, -1); loss = F.cross_entropy(s, torch.zeros(n, dtype=torch.long, device=dev))
            if teacher is not None:
                with torch.no_grad(), torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"): t = teacher.score(ids, types).float().view(n, -1)
                soft = F.kl_div(F.log_softmax(s / 2, 1), F.softmax(t / 2, 1), reduction="batchmean") * 4 + .05 * F.mse_loss(s - s.mean(1, keepdim=True), t - t.mean(1, keepdim=True))
                loss = alpha * loss + (1 - alpha) * soft
            opt.zero_grad(set_to_none=True); loss.backward(); torch.nn.utils.clip_grad_norm_(trained(m), 1.); opt.step(); step += 1
            if step % 300 == 0: say(name, step, "loss", round(loss.item(), 3), "first", round(float((s.argmax(1) == 0).float().mean()), 3))
        e += 1


def train_bi(m, P, seconds, lr, name, K=6, B=112, cross=None, tau=.03):
    """Contrastive; with `cross`, its order of the candidates too.

    A cosine is also pressed to mean something by itself, for questions that nothing answers.
    """
    m.to(dev); line = torch.tensor([12., -8.], device=dev, requires_grad=True)
    opt = torch.optim.AdamW([dict(params=trained(m)), dict(params=[line], weight_decay=0.)], lr=lr, weight_decay=.01, fused=dev == "cuda"); t1, step, e = time.time(), 0, 0
    while True:
        for ((q, d, flags), both), n in batches(P, K, B, 1000 * e + 3, make_both, True):
            if not schedule(opt, lr, seconds, step, t1): m.eval(); say(name, "steps", step, "line", line.tolist()); return m
            q, d, flags, m_ = [x.to(dev) for x in q], [x.to(dev) for x in d], flags.to(dev), m.train(); known, one = flags[:, 0], flags[:, 1]
            with torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"): qv, dv = m_.vector(*q), m_.vector(*d)
            cos = qv @ dv.T; mine_ = torch.eye(n, dtype=torch.bool, device=dev).repeat_interleave(K, 1)
            s = (cos / tau).masked_fill(one[:, None] & one.repeat_interleave(K)[None] & ~mine_, -1e4)
            loss = F.cross_entropy(s[known], (torch.arange(n, device=dev) * K)[known])
            near = torch.einsum("qd,qkd->qk", qv, dv.view(n, K, -1)); right = torch.zeros_like(near); right[known, 0] = 1
            loss = loss + .3 * (F.binary_cross_entropy_with_logits(line[0] * near + line[1], right, reduction="none") * (1 + 3 * right)).mean()
            if cross is not None:
                with torch.no_grad(), torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"): t = cross.score(*[x.to(dev) for x in both]).float().view(n, K)
                loss = loss + F.kl_div(F.log_softmax(near[known] / .05, 1), F.softmax(t[known] / 2, 1), reduction="batchmean")
            opt.zero_grad(set_to_none=True); loss.backward(); torch.nn.utils.clip_grad_norm_(trained(m), 1.); opt.step(); step += 1
            if step % 300 == 0: say(name, step, "loss", round(loss.item(), 3), "first", round(float((s.argmax(1) == torch.arange(n, device=dev) * K)[known].float().mean()), 3))
        e += 1


# --- development sets: candidates of our own search, ranked again

STOP = "a an the of to in on and or is are was were do does did i my me you your it its for with at by from as that this what when where who how which why has have had be been not".split()


def dev_sets(folder: Path, encode) -> dict:
    sets = {}
    for name in ("locomo_dev", "beam_dev", "demo"):
        hs = json.load(gzip.open(folder / f"c_{name}.json.gz"))
        for h in hs:
            when = lambda iso: (lambda d: f"{d.day} {MONTHS[d.month - 1]} {d.year}")(datetime.fromisoformat(iso))
            T = h["turns"]; h["t"], h["p"], h["w"], h["qq"] = (encode(x) for x in ([t["text"] for t in T], [f"{t['speaker']}, {when(t['at'])}: " for t in T], [f"{t['speaker']}: " for t in T], [q["q"] for q in h["questions"]]))
        sets[name] = hs
    return sets


def best_window(t, wanted, n=TURN):
    if len(t) <= n: return t
    at = max(range(0, len(t) - n // 2, n // 2), key=lambda s: len(wanted.intersection(t[s:s + n])))
    return t[at:at + n]


@torch.no_grad()
def cross_scores(m, hs, stop, most=50):
    seqs, out = [], []
    for h in hs:
        for qi, q in enumerate(h["questions"]):
            wanted = set(h["qq"][qi]) - stop
            for c, *_ in q["cand"][:most]:
                before = h["w"][c - 1] + h["t"][c - 1] if c and h["turns"][c - 1]["session"] == h["turns"][c]["session"] else None
                seqs.append(pair(h["qq"][qi], h["p"][c], best_window(h["t"][c], wanted), before))
    order = sorted(range(len(seqs)), key=lambda i: len(seqs[i][0])); out = np.zeros(len(seqs), np.float32); m.eval()
    for i in range(0, len(order), 4096):
        at = order[i:i + 4096]
        with torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"): out[at] = m.score(*[x.to(dev) for x in pad([seqs[j] for j in at])]).float().cpu().numpy()
    return out


def bi_scores(m, hs, most=50):
    out = []
    for h in hs:
        parts = [(n, t[i:i + PLAIN]) for n, t in enumerate(h["t"]) for i in range(0, max(len(t), 1), 96)]
        v, owner = embed(m, [p for _, p in parts]).float(), np.array([n for n, _ in parts]); qv = embed(m, h["qq"]).float()
        S = (qv @ v.T).cpu().numpy(); best = np.full((len(qv), len(h["t"])), -1, np.float32)
        for j, n in enumerate(owner): best[:, n] = np.maximum(best[:, n], S[:, j])
        for qi, q in enumerate(h["questions"]): out.append(best[qi, [c[0] for c in q["cand"][:most]]])
    return np.concatenate(out)


z = lambda x: (x - x.mean()) / (x.std() + 1e-6)


def report(tag, scores, sets, cuts=(50,), weights=(0, .3, .5, .7, 1.)):
    for name, hs in sets.items():
        for cut in cuts:
            line = []
            for w in weights:
                at, recall, mrr = 0, [], []
                for h in hs:
                    pos = {t["id"]: i for i, t in enumerate(h["turns"])}
                    for q in h["questions"]:
                        c = q["cand"][:50]; s = scores[name][at:at + len(c)]; at += len(c); gold = {pos[x] for x in q["gold"] if x in pos}
                        if not gold or len(c) < 2: continue
                        m = min(cut, len(c)); f = (1 - w) * z(np.array([x[2] for x in c[:m]])) + w * z(s[:m]); ids = [c[i][0] for i in np.argsort(-f, kind="stable")] + [x[0] for x in c[m:]]
                        recall.append(len(gold & set(ids[:10])) / len(gold)); hit = [i for i, x in enumerate(ids) if x in gold]; mrr.append(1 / (hit[0] + 1) if hit else 0)
                line.append(f"w{w}: {np.mean(recall):.3f} {np.mean(mrr):.3f}")
            say(tag, name, "first", cut, "recall@10 and MRR", " | ".join(line))


def auc(yes, no): return float((np.asarray(yes)[:, None] > np.asarray(no)[None]).mean())


def alone_report(tag, m, docs, encode):
    """Each question against every turn of its own document; and how far the best cosine tells that anything answers it."""
    first, ten, yes, no, n = 0, 0, [], [], 0
    for d in docs:
        v, qs = embed(m, encode([t for _, t in d["turns"]])).float(), [*d["qs"], *((q, []) for q in d["un"])]
        S = (embed(m, encode([q for q, _ in qs])).float() @ v.T).cpu().numpy()
        for (_, gold), row in zip(qs, S):
            (yes if gold else no).append(row.max())
            if gold: order = np.argsort(-row); n += 1; first += bool(set(order[:3]) & set(gold)); ten += bool(set(order[:10]) & set(gold))
    say(tag, "questions", n, "first 3", round(first / n, 3), "first 10", round(ten / n, 3), "unanswered", len(no), "AUC", round(auc(yes, no), 3))


def read_lives(paths: list[Path]) -> list[dict]:
    """Lives of `holdfast bench lives`, to judge only."""
    docs = []
    for path in paths:
        life = json.loads(path.read_text(encoding="utf-8")); place = {t["id"]: n for n, t in enumerate(life["turns"])}; turns_of = {x["id"]: x["turns"] for x in [*life["facts"], *life["rules"]]}
        gold = lambda q: sorted({place[t] for one in q.get("facts", []) for t in turns_of.get(one, [])})
        docs.append(dict(turns=[(t["role"], t["text"]) for t in life["turns"]], qs=[(q["text"], gold(q)) for q in life["questions"] if gold(q)], un=[q["text"] for q in life["questions"] if q["kind"] == "unknown"]))
    return docs


def main() -> None:
    a = argparse.ArgumentParser()
    for n in ("data", "work", "out"): a.add_argument("--" + n, type=Path, required=True)
    a.add_argument("--part", type=int, required=True); a.add_argument("--scale", type=float, default=1.); a.add_argument("--seed", type=int, default=0); a.add_argument("--drop", default="", help="sources to leave out")
    a.add_argument("--held", default="mini7", help="authors of questions to judge only"); a.add_argument("--lives", type=Path, nargs="*", default=[]); a.add_argument("--plain", action="store_true", help="part 2 without the teacher")
    g = a.parse_args(); g.work.mkdir(parents=True, exist_ok=True); g.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(g.seed); random.seed(g.seed); np.random.seed(g.seed); here = Path(__file__).parent
    tok = BertWordPieceTokenizer(str(g.data / "vocab.txt"), lowercase=True); encode = lambda texts: [e.ids for e in tok.encode_batch(texts, add_special_tokens=False)]
    stop = {i for e in encode(STOP) for i in e}; drop, held = {"own", "dream", *g.drop.split(",")}, g.held.split(","); histories = read_histories(here.parent)
    docs = [d for d in json.load(lzma.open(g.data / "train_docs.json.xz", "rt")) if d["src"] not in drop] + read_chats(here / "chats") + [d for d in histories if d["author"] not in held and "histories" not in drop]
    judged = dict(held=[d for d in histories if d["author"] in held], lives=read_lives(g.lives))
    if g.scale < .1: docs = docs[::400]  # a look at whether it runs
    sets = dev_sets(g.data, encode); P = Pool(docs, encode, g.seed); say(dev, len(P.t), "turns", len(P.q), "questions", sum(s in OF_ONE for s in P.qsrc), "of our own", sum(not x for x in P.gold), "unanswered")
    bge, lexical = load_bge(g.data / "bge_q.npz.xz"), static(g.data / "holdfast-static-256.npz")
    cross = lambda m: {n: cross_scores(m, hs, stop) for n, hs in sets.items()}; bi = lambda m: {n: bi_scores(m, hs) for n, hs in sets.items()}

    def encoder_report(tag, m):
        report(tag, bi(m), sets)
        for name, some in judged.items():
            if some: alone_report(f"{tag} {name}", m, some, encode)

    if g.part == 1:
        bge.to(dev); mine(P, lambda seqs: embed(bge, seqs)); say("mined"); encoder_report("bge", bge)
        m = train_cross(load_bge(g.data / "bge_q.npz.xz"), P, 290 * g.scale, 1e-4, "cross12"); report("cross12", cross(m), sets)
        mine(P, lexical); m = train_cross(m, P, 120 * g.scale, 5e-5, "cross12b"); report("cross12b", cross(m), sets, (20, 50))
        torch.save({k: v.half() for k, v in m.state_dict().items()}, g.work / "cross12.pt")
    elif g.part == 2:
        m = None
        if not g.plain: m = Bert(12); m.load_state_dict({k: v.float() for k, v in torch.load(g.work / "cross12.pt", map_location="cpu").items()}); m.to(dev).eval()
        mine(P, lexical); say("mined")
        wise = train_bi(bge, P, 500 * g.scale, 7e-5, "bi12", cross=m); encoder_report("bi12", wise); save(wise, g.out / "ask-encoder.npz", "encoder")
    else:
        m = Bert(12); m.load_state_dict({k: v.float() for k, v in torch.load(g.work / "cross12.pt", map_location="cpu").items()}); m.to(dev).eval(); mine(P, lexical)
        rank = train_cross(shrink(m, [1, 3, 5, 7, 9, 11]), P, 200 * g.scale, 1.2e-4, "cross6", teacher=m); report("cross6", cross(rank), sets, (20, 50)); save(rank, g.out / "ask-reranker.npz", "reranker")
    say("done")


if __name__ == "__main__":
    main()
