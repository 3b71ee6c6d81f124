import { operationsOf } from '@gatehouse/kit'

/** Operations in the API document: the id, which names the call in generated clients, a summary and a description. */
export const operation = operationsOf({
  'contextKeys.get': [
    'Read the keys of context tokens',
    'The keys that verify the context tokens sent to upstreams, as a JSON Web Key Set (RFC 7517).',
  ],
  'limits.settings.get': ['Read tiers and policies', 'The current tiers and policies with their rules.'],
  'limits.get': ['Read a limit', 'The decision that the next request would get. Counts nothing.'],
  'limits.explain': [
    'Explain how a limit is counted',
    'The counters that are used, and why the next request would be allowed or rejected.',
  ],
  'limits.reset': ['Reset a limit', 'Clears the counts of the current windows.'],
  'limits.grant': ['Grant requests', 'Reduces the counts of the current windows.'],
})

/** The ids of this package's operations. */
export type OperationId = Parameters<typeof operation>[0]
