import { inject } from 'vitest';

// Every orchestrator that a test of the project "postgres" starts keeps its state there (test/orchestrator-stub/running-stub.ts).
process.env['KINDLING_TEST_POSTGRES'] = inject('postgresFolder');
