import { operationsOf } from '@gatehouse/kit'

/** What the API document says about each operation: its id, which names the call in generated clients, a summary and a description. */
export const operation = operationsOf({
  'contextKeys.get': [
    'Read the keys of context tokens',
    'The keys that verify the context tokens sent to upstreams, as a JSON Web Key Set (RFC 7517).',
  ],
  'limits.list': ['List tiers and policies', 'As they are at this moment, with the rules of each.'],
  'limits.get': ['Read how a limit stands', 'What the next request would be answered; nothing is counted.'],
  'limits.explain': [
    'Explain how a limit is counted',
    'Which counters are used, and why the next request would be allowed or rejected.',
  ],
  'limits.reset': ['Reset a limit', 'Forgets what was counted in the current windows.'],
  'limits.grant': ['Give requests back', 'Reduces what was counted in the current windows.'],
})

/** The ids of this package's operations. */
export type OperationId = Parameters<typeof operation>[0]
