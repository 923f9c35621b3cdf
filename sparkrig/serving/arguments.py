"""vLLM's own command line: the model, and each flag by its one name, however it was written.

As in vLLM's parser (vllm/utils/argparse_utils.py, read 2026-11-21): `_` is `-`, `--name=value` is `--name value`,
a beginning that only one flag has is that flag, `--no-NAME` switches off, and `--NAME.key value` is a field of the
JSON object that NAME takes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkrig.parsing import bounds

Value = str | bool | Mapping[str, Any] | Sequence[Any]

# The lists below have the flags of all versions in models/vllm/flags.yaml, which takes longer to read than any
# launch; tests/unit/serving/test_arguments.py compares them.
_SHORT = {
    "-ac": "attention-config",
    "-asc": "api-server-count",
    "-cc": "compilation-config",
    "-dc": "diffusion-config",
    "-dcp": "decode-context-parallel-size",
    "-dp": "data-parallel-size",
    "-dpa": "data-parallel-address",
    "-dpb": "data-parallel-backend",
    "-dpe": "data-parallel-external-lb",
    "-dph": "data-parallel-hybrid-lb",
    "-dpl": "data-parallel-size-local",
    "-dpm": "data-parallel-multi-port-external-lb",
    "-dpn": "data-parallel-rank",
    "-dpp": "data-parallel-rpc-port",
    "-dpr": "data-parallel-start-rank",
    "-ep": "enable-expert-parallel",
    "-n": "nnodes",
    "-O": "optimization-level",
    "-pcp": "prefill-context-parallel-size",
    "-pp": "pipeline-parallel-size",
    "-q": "quantization",
    "-r": "node-rank",
    "-sc": "speculative-config",
    "-tp": "tensor-parallel-size",
}
# flags that take no value
_SWITCH_NAMES = """
aggregate-engine-logging allow-credentials allow-deprecated-quantization async-scheduling calculate-kv-scales
cohere-is-reasoning-model cudagraph-metrics data-parallel-external-lb data-parallel-hybrid-lb
data-parallel-multi-port-external-lb dcp-q-replicate disable-cascade-attn disable-chunked-mm-input
disable-custom-all-reduce disable-fastapi-docs disable-frontend-multiprocessing disable-hybrid-kv-cache-manager
disable-log-requests disable-log-stats disable-mm-preprocessor-cache disable-nccl-for-dp-synchronization
disable-sliding-window disable-uvicorn-access-log enable-auto-tool-choice enable-batch-sharded-sampling
enable-bf16x3-router-gemm enable-chunked-prefill enable-cumem-allocator enable-dbo enable-elastic-ep
enable-ep-weight-filter enable-eplb enable-expert-parallel enable-fault-tolerance enable-flash-late-interaction
enable-flashinfer-autotune enable-force-include-usage enable-hc-sp enable-layerwise-nvtx-tracing enable-log-deltas
enable-log-outputs enable-log-requests enable-logging-iteration-details enable-lora
enable-mamba-cache-stochastic-rounding enable-mamba-fine-grained-prefix-cache enable-mamba-shared-prefix-checkpoint
enable-mfu-metrics enable-mixed-moe-lora-format enable-mm-embeds enable-moe-shared-loras
enable-multimodal-encoder-data-parallel enable-nccl-comm-suspend enable-offline-docs enable-per-request-metrics
enable-prefix-caching enable-prompt-embeds enable-prompt-tokens-details enable-reasoning enable-request-id-headers
enable-return-routed-experts enable-scale-out enable-server-load-tracking enable-shm-tensor-arena enable-sleep-mode
enable-ssl-refresh enable-tokenizer-info-endpoint enable-tower-connector-lora enable-trace-replay enforce-eager
eplb-log-balancedness exclude-tools-when-tool-choice-none fail-on-environ-validation fully-sharded-loras grpc
headless interleave-mm-strings jit-monitor-verbose kv-cache-metrics kv-sharing-fast-prefill language-model-only
log-error-stack long-prefill-token-threshold-adaptive mm-device-do-normalize mm-encoder-only monokernel numa-bind
ray-workers-use-nsight return-sampling-mask return-tokens-as-token-ids scheduler-reserve-full-isl skip-mm-profiling
skip-tokenizer-init sleep-mode-offload-cudagraph specialize-active-lora swa-bounded-replay tokens-only
trust-remote-code trust-request-chat-template trust-request-mm-kwargs use-fp64-gumbel use-gpu-for-pooling-score
use-replayssm use-tqdm-on-load
"""
_SWITCHES = frozenset(_SWITCH_NAMES.split())
# flags that take every word up to the next flag
_MANY_NAMES = """
allowed-media-domains api-key collect-detailed-traces cpu-offload-params cuda-graph-sizes cudagraph-capture-sizes
ignore-patterns kv-cache-dtype-skip-layers logits-processors lora-modules lora-target-modules numa-bind-cpus
numa-bind-nodes offload-params served-model-name sleep-preserve-parameter-names
"""
_MANY = frozenset(_MANY_NAMES.split())
# flags with one value
_VALUED_NAMES = """
additional-config all2all-backend allowed-headers allowed-local-media-path allowed-methods allowed-origins
anthropic-disabled-thinking-effort api-server-count attention-backend attention-config aux-output-config block-size
chat-template chat-template-content-format code-revision cohere-format compilation-config config config-format
convert cp-kv-cache-interleave-size cpu-distributed-timeout-seconds cpu-offload-gb custom-histogram-buckets
data-parallel-address data-parallel-backend data-parallel-rank data-parallel-rpc-port data-parallel-size
data-parallel-size-local data-parallel-start-rank data-parallel-supervisor-port dbo-decode-token-threshold
dbo-prefill-token-threshold dcp-comm-backend dcp-kv-cache-interleave-size decode-context-parallel-size
default-chat-template-kwargs default-mm-loras device-ids diffusion-config disable-access-log-for-endpoints
distributed-executor-backend distributed-timeout-seconds download-dir dp-supervisor-probe-failure-threshold
dp-supervisor-probe-interval-s dp-supervisor-probe-timeout-s dp-sync-interval dtype ec-manager-config
ec-transfer-config elastic-ep-max-dp-size engram-config eplb-config eplb-step-interval eplb-window-size
expert-placement-strategy fault-tolerance-config fingerprint-mode fingerprint-value gdn-prefill-backend
generation-config gpu-memory-utilization grpc-port h11-max-header-count h11-max-incomplete-event-size
hf-config-path hf-overrides hf-token host io-processor-plugin ir-op-priority jit-monitor-mode kda-decode-backend
kda-prefill-backend kernel-config kv-cache-dtype kv-cache-memory-bytes kv-cache-metrics-sample kv-events-config
kv-offloading-backend kv-offloading-size kv-transfer-config limit-mm-per-prompt linear-backend load-format
log-config-file log-level logging-config logits-processor-pattern logprobs-mode long-prefill-token-threshold
lora-dtype lora-extra-vocab-size mamba-backend mamba-block-size mamba-cache-dtype mamba-cache-mode
mamba-cache-philox-rounds mamba-ssm-cache-dtype mamba-ssu-algorithm master-addr master-port max-cpu-loras
max-cudagraph-capture-size max-log-len max-logprobs max-long-partial-prefills max-lora-cls-labels max-lora-rank
max-loras max-model-len max-num-active-seqs max-num-batched-tokens max-num-partial-prefills max-num-queued-reqs
max-num-queued-tokens max-num-scheduled-tokens max-num-seqs max-parallel-loading-workers media-io-kwargs middleware
mm-encoder-attn-backend mm-encoder-attn-dtype mm-encoder-fp8-scale-path mm-encoder-fp8-scale-save-margin
mm-encoder-fp8-scale-save-path mm-encoder-tp-mode mm-hasher-algorithm mm-ipc-gpu-memory-gb mm-processor-cache-gb
mm-processor-cache-type mm-processor-device mm-processor-kwargs mm-shm-cache-max-object-size-mb mm-tensor-ipc model
model-class-overrides model-impl model-loader-extra-config moe-backend mxfp4-backend nnodes node-rank
num-gpu-blocks-override num-lookahead-slots num-redundant-experts offload-backend offload-group-size
offload-num-in-group offload-prefetch-step optimization-level otlp-traces-endpoint override-attention-dtype
override-generation-config override-pooler-config per-request-spec-decode-metrics performance-mode
pipeline-parallel-size pooler-config port prefill-context-parallel-size prefill-schedule-interval
prefix-cache-retention-interval prefix-caching-hash-algo prefix-match-unit profiler-config pt-load-map-location
quantization quantization-config reasoning-config reasoning-effort-map reasoning-parser reasoning-parser-plugin
renderer-num-workers replayssm-buffer-len response-role revision root-path runner safetensors-load-strategy
safetensors-prefetch-block-size safetensors-prefetch-num-threads scheduler-cls scheduling-policy seed
show-hidden-metrics-for-version shutdown-timeout sleep-mode-backend sparse-indexer-topk-backend spec-method
spec-model spec-tokens speculative-config sse-keep-alive-interval ssl-ca-certs ssl-cert-reqs ssl-certfile
ssl-ciphers ssl-keyfile stream-interval structured-outputs-config swap-space task tensor-parallel-size tokenizer
tokenizer-mode tokenizer-revision tool-call-parser tool-parser-plugin tool-server tool-strict-level ubatch-size uds
uvicorn-log-level video-pruning-method video-pruning-rate watchdog-config watermark watermark-config
weight-transfer-config worker-cls worker-extension-cls
"""
_VALUED = frozenset(_VALUED_NAMES.split())
_OTHER_NAMES = {"device-memory-utilization": "gpu-memory-utilization"}  # from 0.31
_KNOWN = _SWITCHES | _MANY | _VALUED | {*_OTHER_NAMES}
_DEEPEST = 20  # fields in fields
_NEGATIVE = re.compile(r"-\d+(?:\.\d+)?")
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True)
class Arguments:
    """What `vllm serve` was given.

    model: empty where none stands there; flags: by their whole names, without dashes; extra: words that belong to
    no flag, beyond the model; broken: flags whose value begins like JSON and is none.
    """

    model: str
    flags: Mapping[str, Value]
    extra: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


def read(words: Iterable[str]) -> Arguments:
    """The words after `vllm serve`, or those of its module."""
    rest, flags, loose = deque(words), dict[str, Value](), list[str]()
    broken: list[str] = []
    while rest:
        word = rest.popleft()
        if word == "--" or not word.startswith("-") or _NEGATIVE.fullmatch(word):
            loose += [] if word == "--" else [word]
            continue
        name, joined = _split(word)
        name, field = name.partition(".")[::2]
        field = ".".join(field.split(".")[:_DEEPEST])
        name, on = _known(name)
        if name in _SWITCHES and not field:
            flags[name] = on
            continue
        value = _values(rest, many=name in _MANY) if joined is None else joined
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") and _json(value) is None:
            broken += [] if "$" in value else [name]
        flags[name] = _with_field(flags.get(name), field, value) if field else _typed(value)
    model = flags.pop("model", None) or (loose.pop(0) if loose else "")
    return Arguments(str(model), flags, tuple(loose), tuple(broken))


def is_known(name: str) -> bool:
    """Whether vLLM has a flag of this name, as far as it is listed above."""
    return name.replace("_", "-") in _KNOWN


def whole_number(text: str) -> int | None:
    """A number as vLLM reads it: 131072, 128K (times 1024), 128k (times 1000). None where it is none."""
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)([kKmMgG]?)", text.strip())
    if found is None or ("." in found[1] and not found[2].islower()):
        return None
    return int(float(found[1]) * _UNITS.get(found[2], 1))


def _split(word: str) -> tuple[str, str | None]:
    """A flag's name without dashes, and the value that is joined to it."""
    name, equals, value = word.partition("=")
    if not name.startswith("--"):
        if name.partition(".")[0] not in _SHORT and name[:2] in _SHORT:  # -O3, -qfp8
            name, equals, value = name[:2], "=", name[2:] + equals + value
        head, dot, field = name.partition(".")
        return _SHORT.get(head, head.lstrip("-")) + dot + field, value if equals else None
    head, dot, field = name[2:].partition(".")
    return head.replace("_", "-") + dot + field, value if equals else None


def _known(name: str) -> tuple[str, bool]:
    """The whole name of a flag, and False where it was switched off."""
    if name not in _KNOWN and name.startswith("no-"):
        return _known(name.removeprefix("no-"))[0], False
    like = [each for each in _KNOWN if each.startswith(name)] if name not in _KNOWN and len(name) > 2 else []
    found = like[0] if len(like) == 1 else name
    return _OTHER_NAMES.get(found, found), True


def _values(rest: deque[str], *, many: bool) -> str | bool | list[str]:
    """Takes the value of a flag from the words that follow it; True where a flag that is not known has none."""
    taken: list[str] = []
    while rest and (many or not taken) and (not rest[0].startswith("-") or _NEGATIVE.fullmatch(rest[0])):
        taken.append(rest.popleft())
    return taken if many else taken[0] if taken else True


def _json(text: str) -> Any:
    try:
        return bounds.loads(text)
    except ValueError:
        return None


def _typed(value: Value) -> Value:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        found: Value | None = _json(value)
        return value if found is None else found
    return value


def _with_field(before: Value | None, field: str, value: Value) -> Value:
    """An object with one more field, which may be deeper inside."""
    made: dict[str, Any] = dict(before) if isinstance(before, Mapping) else {}
    head, _, tail = field.rstrip("+").partition(".")
    if tail:
        made[head] = _with_field(made.get(head), tail, value)
    else:
        parsed = _json(value) if isinstance(value, str) else value
        made[head] = value if parsed is None else parsed
    return made
