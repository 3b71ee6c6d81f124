import Type, { type Static } from 'typebox'

const positiveInteger = (description: string, example: number) =>
  Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description, examples: [example] })

const windowAlgorithm = Type.Union([Type.Literal('sliding-window'), Type.Literal('fixed-window')])

const policyMembers = {
  failure_mode: Type.Optional(
    Type.Union([Type.Literal('open'), Type.Literal('closed'), Type.Literal('local')], {
      description:
        'What to answer while the counter store is away: allow all, reject all, or count in this process alone.',
      default: 'local',
    }),
  ),
  mode: Type.Optional(
    Type.Union([Type.Literal('exact'), Type.Literal('hybrid')], {
      description: 'hybrid counts locally and reconciles about every 100 ms; for advisory limits only.',
      default: 'exact',
    }),
  ),
  quota: Type.Optional(
    Type.Union([Type.Literal('global'), Type.Literal('regional')], {
      description: 'Whether all regions share the quota or each has its own.',
      default: 'global',
    }),
  ),
  shards: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 64, description: 'Splits the counters of a hot key.', default: 1 }),
  ),
}

const algorithm = Type.Optional({
  ...windowAlgorithm,
  description: 'How windows are counted.',
  default: 'sliding-window',
})

const perSecond = Type.Optional(positiveInteger('Requests per second.', 5))
const perMinute = Type.Optional(positiveInteger('Requests per minute.', 10))
const perDay = Type.Optional(positiveInteger('Requests per day.', 1_000))

const furtherRules = {
  rps: perSecond,
  burst: Type.Optional(
    Type.Object(
      {
        capacity: positiveInteger('Requests at once.', 20),
        refill_per_second: Type.Number({ exclusiveMinimum: 0, description: 'Tokens that come back each second.' }),
      },
      { additionalProperties: false, description: 'A token bucket.' },
    ),
  ),
  shadow: Type.Optional(
    Type.Object(
      { rps: perSecond, rpm: perMinute, daily: perDay },
      {
        additionalProperties: false,
        minProperties: 1,
        description: 'Limits on trial: they count and report, but never reject.',
      },
    ),
  ),
}

/** A tier as the configuration declares it: `free: { rpm: 10, daily: 1000 }`. */
export const TierDeclaration = Type.Object(
  {
    rpm: perMinute,
    daily: perDay,
    ...furtherRules,
    algorithm,
    daily_algorithm: Type.Optional({
      ...windowAlgorithm,
      description: 'fixed-window counts by the UTC day. Default: as `algorithm`.',
    }),
    ...policyMembers,
  },
  {
    additionalProperties: false,
    minProperties: 1,
    description: 'A tier: the limits of everybody whose plan has its name.',
  },
)
export type TierDeclaration = Static<typeof TierDeclaration>

/** A limit of its own, for routes and for sign-in: `search: { rpm: 30 }`. */
export const PolicyDeclaration = Type.Object(
  {
    rpm: perMinute,
    daily: perDay,
    ...furtherRules,
    algorithm,
    shared: Type.Optional(
      Type.Boolean({
        description: 'One counter for everybody together instead of one for each caller.',
        default: false,
      }),
    ),
    ...policyMembers,
  },
  { additionalProperties: false, minProperties: 1, description: 'A limit that routes name in `policy`.' },
)
export type PolicyDeclaration = Static<typeof PolicyDeclaration>

/** What holds for the requests of one path, as the configuration declares it. */
export const RouteDeclaration = Type.Object(
  {
    path: Type.String({
      pattern: '^/',
      description: 'A path template; a trailing * takes whatever follows.',
      examples: ['/orders/{id}', '/orders/*'],
    }),
    methods: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Z]+$', description: 'A method in capitals.', examples: ['GET'] }), {
        minItems: 1,
        description: 'Default: every method.',
      }),
    ),
    public: Type.Optional(
      Type.Boolean({ description: 'No credential is needed or looked at; counted by IP address.', default: false }),
    ),
    scope: Type.Optional(
      Type.String({ description: 'Scope names, all of which are needed.', examples: ['read:orders'] }),
    ),
    roles: Type.Optional(
      Type.Array(Type.String(), { minItems: 1, description: 'Role names, one of which is needed.' }),
    ),
    policy: Type.Optional(
      Type.String({
        description: "A policy beside the caller's tier: a request is counted by both or by none. none for no limit.",
        examples: ['search'],
      }),
    ),
    tier: Type.Optional(
      Type.Boolean({
        description:
          "Whether the caller's tier counts beside `policy`; false puts the policy in its place. Default: true, but false where `public` is true.",
      }),
    ),
    upstream: Type.Optional(
      Type.String({
        description: 'The upstream that serves it; left out for a service of ours.',
        examples: ['orders'],
      }),
    ),
  },
  { additionalProperties: false },
)
export type RouteDeclaration = Static<typeof RouteDeclaration>

const milliseconds = (description: string, fallback: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 3_600_000, description, default: fallback }))

/** How an upstream is reached, as the configuration declares it. */
export const UpstreamDeclaration = Type.Object(
  {
    url: Type.String({
      pattern: '^https?://',
      description: 'Its address; a base path goes before every path.',
      examples: ['http://orders:8080'],
    }),
    strip_prefix: Type.Optional(
      Type.String({ pattern: '^/.*[^/]$', description: 'Taken off the front of the path.', examples: ['/orders'] }),
    ),
    forward_token: Type.Optional(
      Type.Boolean({ description: "Passes the caller's own token or API key on.", default: false }),
    ),
    connections: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, description: 'The most connections held to it.', default: 64 }),
    ),
    connect_timeout_ms: milliseconds('How long a connection may take to be made.', 1_000),
    headers_timeout_ms: milliseconds("How long the answer's headers may be awaited.", 30_000),
    body_timeout_ms: milliseconds("How long the answer's body may pause.", 30_000),
    request_timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 86_400_000,
        description:
          "How long the request's body may take in all; one that comes slower than 500 bytes a second after the first 20 seconds is refused before.",
        default: 3_600_000,
      }),
    ),
    breaker_failures: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000,
        description: 'Requests in a row without any answer after which it is spared for a while; 0 for never.',
        default: 5,
      }),
    ),
    breaker_open_ms: milliseconds(
      'How long it is spared at first; doubles with every failed probe, up to 30 s.',
      1_000,
    ),
    websockets_at_expiry: Type.Optional(
      Type.Union([Type.Literal('close'), Type.Literal('keep')], {
        description: 'What becomes of a WebSocket when the credential that opened it expires or is revoked.',
        default: 'close',
      }),
    ),
    streams_at_expiry: Type.Optional(
      Type.Union([Type.Literal('close'), Type.Literal('keep')], {
        description:
          'What becomes of an answer that is still under way when the credential that asked for it expires or is revoked.',
        default: 'close',
      }),
    ),
    retries: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 5,
        description: 'How often a safe request without a body is sent again when its connection fails.',
        default: 1,
      }),
    ),
  },
  { additionalProperties: false },
)
export type UpstreamDeclaration = Static<typeof UpstreamDeclaration>
