"""What a test holds: FakeKube, the ledger of reconciles, the request log, assertions."""
