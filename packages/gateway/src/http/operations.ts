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
  'limits.top.get': [
    'Read the callers with the most requests',
    'By rejected or allowed requests, one line for each caller and policy. Counted in bounded memory: a count is never too high, and too low by `error_bound` at most.',
  ],
  'limits.stats.get': [
    'Read how many requests were allowed and rejected',
    'Over time, by policy, route or tier. Requests that a shadow rule would have rejected are series of their own.',
  ],
  'limits.use.get': [
    'Read how close callers come to a limit',
    'The share of its limits that callers use: of half of them, of 95 % and of 99 % at most.',
  ],
  'limits.rejections.list': [
    'List rejected requests',
    'The last 1,000, newest first, with the rule that rejected each.',
  ],
  'limits.store.get': [
    'Read the state of the counter store',
    'Whether it answers, since when it does not, and what each policy does then.',
  ],
  'limits.callers.get': [
    'Read a caller',
    'The tier, an override, the standing under every policy that applies, and the requests of the last hour. Counts nothing.',
  ],
  'limits.callers.unblock': [
    'Let a caller in again',
    'Clears the counts of each policy that rejects the caller now, except of policies that count all callers together. People need a recent sign-in, and attempt limits an owner.',
  ],
  'routes.get': ['Read routes', 'Own routes, which come first, and the rules of the file in their order.'],
  'routes.match.get': ['Find the rule of a request', 'Which rule applies to a method and path, and why others do not.'],
  'upstreams.get': [
    'Read upstreams',
    'Breaker, connections, failures and response times in this process, of the last five to ten minutes.',
  ],
  'limits.reset': [
    'Reset a limit',
    'Clears the counts of the current windows. People need a recent sign-in, and attempt limits an owner.',
  ],
  'limits.grant': [
    'Grant requests',
    'Reduces the counts of the current windows. Attempt limits need an owner with a recent sign-in, and large grants `admin:limits`.',
  ],
})

/** The ids of this package's operations. */
export type OperationId = Parameters<typeof operation>[0]
