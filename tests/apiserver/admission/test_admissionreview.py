"""The answers of admission webhooks have Go's types."""

import pytest

from fakekube.apiserver.admission.admissionreview import answer
from fakekube.apiserver.schema.wrongtype import WrongType


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({"allowed": "false"}, "string into Go struct field AdmissionResponse.response.allowed of type bool"),
        ({"allowed": 1}, "number into Go struct field AdmissionResponse.response.allowed of type bool"),
        ({"warnings": [1]}, "number into Go struct field AdmissionResponse.response.warnings of type string"),
        ({"status": "x"}, "string into Go struct field AdmissionResponse.response.status of type v1.Status"),
        ({"status": {"code": "x"}}, "string into Go struct field Status.response.status.code of type int32"),
        ({"patch": 5}, "number into Go struct field AdmissionResponse.response.patch of type []uint8"),
        ({"patchType": 7}, "number into Go struct field AdmissionResponse.response.patchType of type string"),
        (5, "number into Go struct field AdmissionReview.response of type v1.AdmissionResponse"),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_rejected(response, message):
    with pytest.raises(WrongType) as refused:
        answer({"response": response})
    assert str(refused.value) == f"json: cannot unmarshal {message}"


def test_a_valid_answer_is_returned():
    response = {"uid": "u", "allowed": True, "status": {"code": 403, "message": "no"}, "warnings": ["w"]}
    assert answer({"kind": "AdmissionReview", "response": response, "other": 1})["response"] == response


@pytest.mark.parametrize("document", [None, [], "x", 1])
def test_a_document_that_is_no_object_is_rejected(document):
    with pytest.raises(WrongType):
        answer(document)
