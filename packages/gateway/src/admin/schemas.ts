import { Type } from 'typebox'
import { operation } from '../http/operations.ts'
import { describeOperation } from './describe-operation.ts'
import { limitScopes } from './operators.ts'

const text = Type.String()
const flag = Type.Boolean()
const count = Type.Integer()

/** What names a caller. */
export const identifierMembers = {
  kind: Type.String({ pattern: '^[a-z][a-z0-9-]{0,31}$', description: 'user, client, key, ip, or one of a policy.' }),
  id: Type.String({ minLength: 1, maxLength: 512, description: 'The subject, the hash of the API key, the address.' }),
}

/** One limit: `/free/user/u1`, `/anonymous/ip/192.0.2.1`. */
const limitParams = Type.Object({
  policy: Type.String({
    description: 'A tier or policy by name; to read, up to three joined by +, which count together: free+search.',
  }),
  ...identifierMembers,
})

/** How much of a limit is left. */
export const limitStatus = {
  allowed: flag,
  limit: count,
  remaining: count,
  reset: Type.Integer({ description: 'Unix seconds of the next window.' }),
  retry_after: Type.Integer({ description: 'Seconds to wait; 0 when a request would be allowed.' }),
}

/** The state of a limit as in X-RateLimit-*, and of each of its rules. */
const decisionResponse = Type.Object(
  {
    ...limitStatus,
    source: Type.String({ description: 'The source of the decision: store, local, open or closed.' }),
    rules: Type.Array(
      Type.Object({
        name: text,
        policy: Type.String({ description: 'The tier or policy that the rule belongs to.' }),
        shadow: flag,
        ...limitStatus,
      }),
    ),
  },
  { title: 'LimitStanding' },
)

/** Where a limit is counted and what its counts mean. */
const explanationResponse = Type.Object(
  {
    identifier: Type.Object({ kind: text, id: text }),
    policy: text,
    tier: text,
    allowed: flag,
    source: text,
    failure_mode: text,
    breaker: text,
    rules: Type.Array(Type.Object({ name: text, policy: text, algorithm: text, keys: Type.Array(text), text })),
  },
  { title: 'LimitExplanation' },
)

const declared = Type.Array(
  Type.Object({
    name: text,
    failure_mode: text,
    mode: text,
    quota: text,
    shared: Type.Boolean({ description: 'One counter for all callers together.' }),
    rules: Type.Array(
      Type.Object({ name: text, algorithm: text, limit: count, window_seconds: Type.Number(), shadow: flag }),
    ),
  }),
)

/** Every limit of the gateway. */
const limitsResponse = Type.Object(
  {
    lowest: Type.String({ description: 'The tier of callers without one.' }),
    global: Type.Optional(Type.String({ description: 'The policy that every request counts by as well.' })),
    tiers: declared,
    policies: declared,
    routes: Type.Array(
      Type.Object({
        path: text,
        methods: Type.Optional(Type.Array(text)),
        policy: Type.Optional(text),
        producers: Type.Optional(
          Type.String({ description: 'The policy, in place of the tier, of callers with write:notifications.' }),
        ),
        tier: Type.Boolean({ description: "Whether the caller's tier, or anonymous, counts too." }),
      }),
      { description: 'Routes with policies, in the order in which they are matched.' },
    ),
  },
  { title: 'Limits' },
)

const { read, grant, manage } = limitScopes

/** The schemas of the endpoints for limits. */
export const limitSchemas = {
  list: { ...describeOperation('limits.settings.get', read), response: { 200: limitsResponse } },
  read: { ...describeOperation('limits.get', read), params: limitParams, response: { 200: decisionResponse } },
  explain: {
    ...describeOperation('limits.explain', read),
    params: limitParams,
    response: { 200: explanationResponse },
  },
  reset: { ...describeOperation('limits.reset', manage), params: limitParams, response: { 204: Type.Null() } },
  grant: {
    ...describeOperation('limits.grant', grant),
    params: limitParams,
    body: Type.Object({ amount: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }) }, { additionalProperties: false }),
    response: { 200: decisionResponse },
  },
}

/** The schema of the public keys of context tokens. */
export const contextKeysSchema = {
  tags: ['gateway'],
  ...operation('contextKeys.get'),
  security: [],
  response: { 200: Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }) },
}
