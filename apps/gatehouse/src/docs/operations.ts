import { operationsOf } from '@gatehouse/kit'

/** What the API document says about the program's own operations. */
export const operation = operationsOf({
  'health.get': ['Check that the process is alive', 'Asks no engine.'],
  'readiness.get': ['Check that the engines answer', 'Names each engine; 503 when one that is needed does not answer.'],
  'metrics.get': ['Read metrics', 'In the Prometheus text format.'],
  'status.get': [
    'Read the status of this process',
    'Its services, engines and versions, and warnings: what an operator should look at. In an installation of several processes each answers for its own services.',
  ],
  'setup.get': ['Read the steps of the setup', 'What is done of the services of this process and what shows it.'],
  'config.get': [
    'Read the configuration in force',
    'Values with their origin. Of what may be a credential it is only said whether it is set.',
  ],
  'storage.get': [
    'Read the sizes of tables',
    'Of the services of this process, the largest first, with what each grew by since the process knows.',
  ],
  'drift.get': [
    'Read what differs from the file',
    'What was changed or deleted at run time since the file was applied, at most 200 of each kind.',
  ],
  'live.get': [
    'Follow counters',
    'Server-sent events: the counters of the topics at once and every two seconds, while the token is valid.',
  ],
  'document.get': ['Read the API document', 'OpenAPI 3.1; the services in other processes are joined to it.'],
})
