import Type, { type Static } from 'typebox'

const positiveInteger = (description: string, example: number) =>
  Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description, examples: [example] })

const windowAlgorithm = Type.Union([Type.Literal('sliding-window'), Type.Literal('fixed-window')])

const policyMembers = {
  failure_mode: Type.Optional(
    Type.Union([Type.Literal('open'), Type.Literal('closed'), Type.Literal('local')], {
      description:
        'What to do while the counter store is unavailable: allow all (open), reject all (closed), or count in this process (local).',
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

const bucket = Type.Optional(
  Type.Object(
    {
      capacity: positiveInteger('Requests at once.', 20),
      refill_per_second: Type.Number({ exclusiveMinimum: 0, description: 'Tokens added each second.' }),
    },
    { additionalProperties: false, description: 'A token bucket.' },
  ),
)

const furtherRules = {
  rps: perSecond,
  burst: bucket,
  shadow: Type.Optional(
    Type.Object(
      { rps: perSecond, rpm: perMinute, daily: perDay, burst: bucket },
      {
        additionalProperties: false,
        minProperties: 1,
        description: 'Shadow limits: they count and report, but never reject.',
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
    description: 'A tier: the limits of all users and clients whose plan has its name.',
  },
)
/** The type of {@link TierDeclaration}. */
export type TierDeclaration = Static<typeof TierDeclaration>

/** A policy as the configuration declares it, for routes and for sign-in: `search: { rpm: 30 }`. */
export const PolicyDeclaration = Type.Object(
  {
    rpm: perMinute,
    daily: perDay,
    ...furtherRules,
    algorithm,
    shared: Type.Optional(
      Type.Boolean({
        description: 'One counter for all callers together instead of one for each.',
        default: false,
      }),
    ),
    ...policyMembers,
  },
  { additionalProperties: false, minProperties: 1, description: 'A limit that routes name in `policy`.' },
)
/** The type of {@link PolicyDeclaration}. */
export type PolicyDeclaration = Static<typeof PolicyDeclaration>
