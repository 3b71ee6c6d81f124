import { pageMembers } from '@gatehouse/kit'
import { Type } from 'typebox'
import { describeOperation } from '../describe-operation.ts'
import { limitScopes } from '../operators.ts'
import { identifierMembers, limitStatus } from '../schemas.ts'

const text = Type.String()
const count = Type.Integer({ minimum: 0 })
const instant = Type.String({ format: 'date-time' })
const { read } = limitScopes

const scope = Type.Enum(['all', 'process'], {
  description: 'Whose requests: those of all processes that share a history, or of the one that answers.',
})
const policy = Type.Optional(Type.String({ maxLength: 200, description: 'Only requests that this policy counted.' }))
const kind = Type.Optional({ ...identifierMembers.kind, description: 'Only callers of this kind.' })
const route = Type.Optional(Type.String({ maxLength: 500, description: 'Only requests of this route template.' }))

const topQuery = Type.Object(
  {
    by: Type.Optional(
      Type.Enum(['rejected', 'allowed'], { default: 'rejected', description: 'Which requests callers are ranked by.' }),
    ),
    window: Type.Optional(Type.Enum(['15m', '1h', '24h', '7d'], { default: '1h', description: 'How far back.' })),
    policy,
    kind,
    route,
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'How many callers.' })),
  },
  { additionalProperties: false },
)

const topResponse = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          kind: text,
          id: text,
          policy: Type.String({ description: 'The policy that rejected the requests, or counted them.' }),
          allowed: count,
          rejected: count,
          last_at: instant,
        },
        { title: 'RankedCaller' },
      ),
    ),
    error_bound: Type.Integer({ minimum: 0, description: 'By how much a count is too low at most.' }),
    from: Type.String({ format: 'date-time', description: 'The first request that may be counted.' }),
    scope,
  },
  { title: 'TopCallers' },
)

const statisticsQuery = Type.Object(
  {
    by: Type.Enum(['policy', 'route', 'tier'], { description: 'What each series is about.' }),
    policy: Type.Optional(
      Type.String({
        maxLength: 200,
        description:
          'By policy: only this one. By route or tier: the requests that this policy counted while it had rules in shadow, to compare the two.',
      }),
    ),
    from: Type.Optional(Type.String({ format: 'date-time', description: 'Default: an hour before `to`.' })),
    to: Type.Optional(Type.String({ format: 'date-time', description: 'Default: now.' })),
    step: Type.Optional(
      Type.Union([Type.Literal(60), Type.Literal(600), Type.Literal(3_600)], {
        description: 'Seconds: 60 for up to three hours, 600 for a day, 3600 for a week. Default: by `from`.',
      }),
    ),
  },
  { additionalProperties: false },
)

const statisticsResponse = Type.Object(
  {
    step: Type.Integer({ description: 'The length of a step in seconds.' }),
    at: Type.Array(instant, { description: 'The beginnings of the steps.' }),
    series: Type.Array(
      Type.Object({
        labels: Type.Record(text, text, {
          description:
            '`policy`, `route` or `tier`; `outcome`: allowed, rejected, or what rules in shadow would have done: shadow (rejected) and released (not rejected, as it was); by policy the `rule`.',
        }),
        values: Type.Array(count, { description: 'One for each step.' }),
      }),
    ),
    scope,
  },
  { title: 'LimitStatistics' },
)

const share = Type.Number({ minimum: 0 })
const useResponse = Type.Object(
  {
    policy: text,
    rules: Type.Array(
      Type.Object({
        name: text,
        limit: count,
        window_seconds: Type.Number(),
        shadow: Type.Boolean(),
        callers: Type.Integer({ description: 'Callers that the rule counted.' }),
        p50: Type.Number({ minimum: 0, description: 'Half of the callers use at most this share of the limit.' }),
        p95: share,
        p99: share,
        max: share,
      }),
      {
        description:
          'Rules of a minute: the busiest minute of each caller in the last hour. Rules of a day: the last 24 hours. Other rules are left out.',
      },
    ),
    error_bound: Type.Integer({ minimum: 0, description: 'By how many requests a caller is counted too low at most.' }),
    scope,
  },
  { title: 'LimitUse' },
)

const standing = Type.Object(
  {
    policy: text,
    is_tier: Type.Boolean(),
    stands_for_tier: Type.Boolean({
      description:
        'Whether it counts as the tier: the tier itself, or what an override or the client has in its place.',
    }),
    recent: Type.Boolean({ description: 'Whether it counted requests of the caller in the last day.' }),
    shared: Type.Boolean({ description: 'One counter for all callers together.' }),
    limits_attempts: Type.Boolean({
      description: 'Whether it counts attempts to sign in or to enter a code, which owners alone give back.',
    }),
    ...limitStatus,
    source: Type.String({ description: 'The source of the decision: store, local, open or closed.' }),
    rules: Type.Array(
      Type.Object({
        name: text,
        policy: text,
        shadow: Type.Boolean(),
        window_seconds: Type.Number(),
        ...limitStatus,
      }),
    ),
  },
  { title: 'PolicyStanding' },
)

const override = Type.Object(
  {
    policy: Type.Optional(Type.String({ description: 'What counts in place of the tier.' })),
    factor: Type.Optional(Type.Number({ description: 'What the limits of the tier are multiplied with.' })),
    until: instant,
    author: Type.Optional(Type.String({ description: 'Who set it.' })),
    created_at: Type.Optional(instant),
    reason: Type.Optional(text),
  },
  {
    title: 'CallerOverride',
    description: 'The limit of its own that the caller has here; a new one after 5 s at most.',
  },
)

const callerResponse = Type.Object(
  {
    identifier: Type.Object({ kind: text, id: text }),
    tier: Type.Optional(text),
    client_policy: Type.Optional(
      Type.String({ description: 'The policy that the client has: it counts in place of the tier.' }),
    ),
    override: Type.Optional(override),
    policies: Type.Array(standing),
    minutes: Type.Array(Type.Object({ at: instant, allowed: count, rejected: count }), {
      description: 'The last hour, oldest first; of callers with few requests some may be missing.',
    }),
    scope,
  },
  { title: 'LimitedCaller' },
)

const unblockResponse = Type.Object(
  {
    policies: Type.Array(text, { description: 'The policies that rejected the caller, whose counts are forgotten.' }),
    still_rejected: Type.Array(Type.Object({ policy: text, retry_after: Type.Integer({ description: 'Seconds.' }) }), {
      description: 'Policies that reject it still: those that count all callers together.',
    }),
  },
  { title: 'UnblockedCaller' },
)

const rejectionsQuery = Type.Object(
  {
    policy: Type.Optional(Type.String({ maxLength: 200, description: 'Only those by this policy.' })),
    kind,
    id: Type.Optional({ ...identifierMembers.id, description: 'Only those of this caller.' }),
    route,
    ...pageMembers(),
  },
  { additionalProperties: false },
)

const rejectionsResponse = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          at: instant,
          policy: text,
          rule: text,
          route: text,
          identifier: Type.Object({ kind: text, id: text }),
          retry_after: Type.Integer({ description: 'The seconds that the caller was to wait.' }),
          source: Type.Enum(['store', 'local', 'open', 'closed'], {
            description: 'What decided; closed: the counter store was unavailable.',
          }),
          request_id: Type.Optional(text),
        },
        { title: 'LimitRejection' },
      ),
    ),
    next: Type.Optional(text),
    scope,
  },
  { title: 'LimitRejections' },
)

const storeResponse = Type.Object(
  {
    available: Type.Boolean(),
    unavailable_since: Type.Optional(instant),
    breakers: Type.Array(
      Type.Object({
        scope: Type.Enum(['standard', 'fail_closed'], { description: 'fail_closed: policies that fail closed.' }),
        state: Type.Enum(['closed', 'half-open', 'open']),
      }),
    ),
    failure_modes: Type.Array(
      Type.Object({ failure_mode: Type.Enum(['local', 'open', 'closed']), policies: Type.Array(text) }),
      { description: 'What policies do while it is unavailable.' },
    ),
  },
  { title: 'CounterStoreState' },
)

/** The schemas of the endpoints for callers. */
export const callerSchemas = {
  top: { ...describeOperation('limits.top.get', read), querystring: topQuery, response: { 200: topResponse } },
  statistics: {
    ...describeOperation('limits.stats.get', read),
    querystring: statisticsQuery,
    response: { 200: statisticsResponse },
  },
  use: {
    ...describeOperation('limits.use.get', read),
    querystring: Type.Object(
      { policy: Type.String({ minLength: 1, maxLength: 200, description: 'A tier or policy.' }) },
      { additionalProperties: false },
    ),
    response: { 200: useResponse },
  },
  rejections: {
    ...describeOperation('limits.rejections.list', read),
    querystring: rejectionsQuery,
    response: { 200: rejectionsResponse },
  },
  store: { ...describeOperation('limits.store.get', read), response: { 200: storeResponse } },
  caller: {
    ...describeOperation('limits.callers.get', read),
    params: Type.Object(identifierMembers),
    response: { 200: callerResponse },
  },
  unblock: {
    ...describeOperation('limits.callers.unblock', limitScopes.manage),
    params: Type.Object(identifierMembers),
    response: { 200: unblockResponse },
  },
}
