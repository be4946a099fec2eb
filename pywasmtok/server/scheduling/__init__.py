"""Which call runs next: queues, fairness between tenants, estimated cost, the executor."""
