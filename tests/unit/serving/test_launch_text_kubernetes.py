"""Kubernetes as people publish it: every kind with pods, scripts in a ConfigMap, variables that are not seen."""

from __future__ import annotations

import pytest

from sparkrig.serving import launch_text
from sparkrig.serving.container import Container, Mount
from sparkrig.serving.launch import Launch, Unreadable
from tests.tables import each_row

SPEC = """
hostNetwork: true
hostIPC: true
volumes:
- {name: hub, hostPath: {path: /srv/hub}}
- {name: scripts, configMap: {name: start}}
containers:
- name: server
  image: org/vllm:1
  command: [vllm, serve]
  args: [Q/M, --port, 8000, --max-model-len=$(LENGTH), --api-key, $(KEY)]
  env:
  - {name: LENGTH, value: 4096}
  - {name: KEY, valueFrom: {secretKeyRef: {name: hidden, key: key}}}
  securityContext: {privileged: true, capabilities: {add: [CAP_IPC_LOCK]}}
  resources: {limits: {nvidia.com/gpu: 1, memory: 100Gi, rdma/hca: 1}}
  volumeMounts:
  - {name: hub, mountPath: /root/.cache/huggingface}
"""
SERVER = Container(
    image="org/vllm:1",
    gpus=True,
    privileged=True,
    network="host",
    ipc="host",
    devices=("/dev/infiniband",),
    capabilities=("IPC_LOCK",),
    memory="100Gi",
    mounts=(Mount("/srv/hub", "/root/.cache/huggingface"),),
)


def under(*path: str, spec: str = SPEC, kind: str = "Deployment") -> str:
    """An object whose pod's spec is at a path; a name in brackets is a list of one."""
    text = spec.strip("\n")
    for name in reversed(path):
        body = "\n".join(f"  {line}" for line in text.splitlines())
        text = f"{name}:\n{body}" if name[0] != "[" else f"{name[1:-1]}:\n- " + body.lstrip()
    return f"apiVersion: x/v1\nkind: {kind}\nmetadata: {{name: big}}\n{text}\n"


def read(text: str) -> list[Launch]:
    return launch_text.read(text)


def test_every_kind_that_has_pods() -> None:
    def holds(text: str, source: str) -> None:
        (found,) = read(text)
        assert (found.source, found.model, found.container) == (source, "Q/M", SERVER)
        assert found.flags == {"port": "8000", "max-model-len": "4096", "api-key": ["$(KEY)"]}
        assert (found.environment, found.whole) == ({"LENGTH": "4096", "KEY": None}, True)

    each_row(
        [
            (under("spec", kind="Pod"), "Pod big"),
            *((under("spec", "template", "spec", kind=kind), f"{kind} big") for kind in ("Deployment", "Job")),
            (under("spec", "jobTemplate", "spec", "template", "spec", kind="CronJob"), "CronJob big"),
            (
                under("spec", "leaderWorkerTemplate", "leaderTemplate", "spec", kind="LeaderWorkerSet"),
                "LeaderWorkerSet big leader",
            ),
            (
                under("spec", "rayClusterConfig", "[workerGroupSpecs]", "template", "spec", kind="RayService"),
                "RayService big worker",
            ),
            (f"---\napiVersion: v1\nkind: Service\n---\n{under('spec', kind='Pod')}---\n", "Pod big"),
            (
                "apiVersion: v1\nkind: List\nitems:\n- " + under("spec", kind="Pod").replace("\n", "\n  "),
                "Pod big",
            ),
        ],
        holds,
    )


MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: start}
data:
  LENGTH: "4096"
  head.sh: |
    #!/bin/bash
    export B=2
    exec vllm serve Q/M --max-model-len $LENGTH
---
"""


def test_a_script_of_a_config_map_that_a_container_runs() -> None:
    def holds(run: str, mount: str, volume: str = "{name: start}") -> None:
        spec = (
            f"volumes: [{{name: s, configMap: {volume}}}]\n"
            f"containers:\n- image: org/vllm:1\n  {run}\n  volumeMounts: [{{name: s, {mount}}}]\n"
            "  envFrom: [{configMapRef: {name: start}}]\n"
        )
        (found,) = read(MAP + under("spec", spec=spec, kind="Pod"))
        assert (found.model, found.flags, found.whole) == ("Q/M", {"max-model-len": "4096"}, True)
        assert found.environment["B"] == "2" and found.container is not None

    each_row(
        {
            "by a shell": ("command: [/bin/bash, /s/head.sh]", "mountPath: /s"),
            "as the program": ("command: [/s/head.sh]", "mountPath: /s/"),
            "in a command": ("args: [bash, -c, 'sleep 1 && exec bash /s/head.sh']", "mountPath: /s"),
            "alone": ("command: [sh, /run.sh]", "mountPath: /run.sh, subPath: head.sh"),
            "renamed": (
                "command: [sh, /s/x]",
                "mountPath: /s",
                "{name: start, items: [{key: head.sh, path: x}]}",
            ),
        },
        holds,
    )


def test_variables_from_what_is_not_in_the_text_are_not_all_there() -> None:
    def holds(given: str, whole: bool, environment: dict[str, str | None]) -> None:
        spec = f"containers:\n- image: vllm/vllm-openai\n  args: [--model, Q/M]\n  {given}\n"
        (found,) = read(MAP + under("spec", spec=spec, kind="Pod"))
        assert (found.whole, found.environment) == (whole, environment)

    each_row(
        [
            ("envFrom: [{secretRef: {name: x}}]", False, {}),
            ("envFrom: [{configMapRef: {name: other}}]", False, {}),
            ("env: [{name: A}]", True, {"A": ""}),
            ("env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]", True, {"A": None}),
            ("env: [{name: A, valueFrom: {configMapKeyRef: {name: start, key: LENGTH}}}]", True, {"A": "4096"}),
        ],
        holds,
    )


def test_nodes_of_ray_and_other_engines() -> None:
    pod = "containers:\n- {image: rayproject/ray-llm, resources: {limits: {nvidia.com/gpu: 1}}}\n"
    (head,) = read(under("spec", "headGroupSpec", "template", "spec", spec=pod, kind="RayCluster"))
    assert (head.ray, head.source) == (True, "RayCluster big head")
    pod = "containers:\n- {image: vllm/vllm-openai, command: [sh, -c, 'ray start --address=$(LEADER):6379']}\n"
    (worker,) = read(under("spec", "leaderWorkerTemplate", "workerTemplate", "spec", spec=pod))
    assert (worker.ray, worker.source) == (True, "Deployment big worker")
    pod = "containers:\n- {image: lmsysorg/sglang, command: [sglang, serve], args: [--model-path, Q/M]}\n"
    (other,) = read(under("spec", spec=pod, kind="Pod"))
    assert (other.engine, other.model) == ("sglang", "Q/M")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: v1\nkind: Pod\nspec: {containers: [{image: postgres}]}", r"runs vLLM \(Pod\)"),
        ("apiVersion: v1\nkind: Service\n---\napiVersion: v1\nkind: Pod\n", r"runs vLLM \(Service, Pod\)"),
        ("apiVersion: v1\nkind: Pod\nspec: {containers: [1, [2], {args: 3}]}", "runs vLLM"),
        ("kind: Pod\napiVersion: {{ .Values.x }}\nspec: {{- if }}", "helm template"),
    ],
)
def test_what_has_no_launch_is_said_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        read(text)


RELEASED = """
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: vllm-coder-spark}
spec:
  chartRef: {kind: OCIRepository, name: app-template}
  values:
    controllers:
      vllm:
        pod: {hostIPC: true}
        containers:
          app:
            image: {repository: ghcr.io/timothystewart6/vllm-gb10, tag: v0.25.1-cu13.2@sha256:30e7}
            command: [vllm, serve]
            args: [Qwen/Qwen3.6-27B-FP8, --max-model-len, "32768", --gpu-memory-utilization, "0.28"]
            env:
              HF_HOME: &kept /data
              HF_TOKEN: {valueFrom: {secretKeyRef: {name: hidden, key: token}}}
            resources:
              limits: {memory: 48Gi, nvidia.com/gpu: 1}
    persistence:
      cache:
        existingClaim: vllm-coder-spark-cache-pvc
        advancedMounts: {vllm: {app: [{path: *kept}]}}
      shm: {type: emptyDir, advancedMounts: {vllm: {sidecar: [{path: /dev/shm}]}}}
      models: {hostPath: /srv/models}
"""


def test_a_helm_release_of_app_template() -> None:
    """[@rwlove-home-ops], with two volumes and a variable more."""
    (found,) = read(RELEASED)
    assert (found.source, found.model) == ("HelmRelease vllm-coder-spark vllm", "Qwen/Qwen3.6-27B-FP8")
    assert found.flags == {"max-model-len": "32768", "gpu-memory-utilization": "0.28"}
    assert (found.environment, found.whole) == ({"HF_HOME": "/data", "HF_TOKEN": None}, True)
    assert found.container == Container(
        image="ghcr.io/timothystewart6/vllm-gb10:v0.25.1-cu13.2@sha256:30e7",
        gpus=True,
        ipc="host",
        memory="48Gi",
        mounts=(Mount("vllm-coder-spark-cache-pvc", "/data"), Mount("/srv/models", "/models")),
    )


def test_values_of_app_template_alone() -> None:
    values = RELEASED.partition("  values:\n")[2].replace("\n    ", "\n").removeprefix("    ")
    (found,) = read(
        values.replace("{repository: ghcr.io/timothystewart6/vllm-gb10, tag: v0.25.1-cu13.2@sha256:30e7}", "i:1")
    )
    assert (found.source, found.model) == ("Helm values vllm", "Qwen/Qwen3.6-27B-FP8")
    assert found.container is not None
    assert found.container.image == "i:1"


def test_what_stands_beside_a_helm_release_is_read_too() -> None:
    kind = "\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
    other = f"{kind}metadata: {{name: x}}\nspec: {{values: {{a: 1}}}}"
    stack = "spec: {values: {servingEngineSpec: {modelSpec: [{name: s, modelURL: Q/S, repository: r, tag: 1}]}}}"
    production = f"{kind}metadata: {{name: y}}\n{stack}"
    found = read(f"{RELEASED}{other}{production}\n---\n{under('spec', kind='Pod')}")
    assert [each.model for each in found] == ["Qwen/Qwen3.6-27B-FP8", "Q/S", "Q/M"]
    with pytest.raises(Unreadable, match=r"runs vLLM \(HelmRelease\)"):
        read(other)
