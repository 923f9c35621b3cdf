"""The one way to say no: what, that nothing was changed, and what to try."""

from sparkrig.refusal import Refusal


def test_the_sentence() -> None:
    refusal = Refusal("docker does not answer", "sudo systemctl status docker")
    assert str(refusal) == (
        "docker does not answer. Nothing was changed by this step. Try: sudo systemctl status docker"
    )
