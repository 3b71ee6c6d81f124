import { IfMatchHeaders } from '@gatehouse/kit'
import { type TSchema, Type } from 'typebox'
import type { LimitRules } from '../../config/limit-rules.ts'
import type { LimitOrigin } from '../../model/limit-settings.ts'

const text = Type.String()
const time = Type.String({ format: 'date-time' })

/** The name of a tier or policy: a word that metrics and problem details show. */
export const limitName = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$', description: 'The name.' })

/** Why, in the words of whoever changes something. */
export const comment = Type.Optional(Type.String({ maxLength: 500, description: 'Why; shown with the version.' }))

const versionMembers = {
  version: Type.Integer({ description: 'Counts from 1; 0 before anything was stored.' }),
  origin: Type.Unsafe<LimitOrigin>({
    type: 'string',
    enum: ['file', 'edit', 'rollback'],
    description: 'Where it came from: the file, an edit, or an earlier version.',
  }),
  author: Type.Optional(text),
  comment: text,
  restored: Type.Optional(Type.Integer({ description: 'The version that was activated again.' })),
  created_at: Type.Optional(time),
}

/** A version in a list. */
export const versionSchema = Type.Object(versionMembers, { title: 'LimitVersion' })

/** The schemas that depend on the gateway's rules. */
export function limitSchemas({ tier, policy }: LimitRules) {
  const document = {
    tiers: Type.Record(Type.String(), tier),
    policies: Type.Record(Type.String(), policy),
    global_policy: Type.Optional(Type.String({ description: 'The policy that every request counts by as well.' })),
  }
  const declared = (declaration: TSchema) =>
    Type.Object({
      name: text,
      version: Type.Integer({ description: 'The active version.' }),
      declaration: Type.Optional(declaration),
      file: Type.Optional(declaration),
      etag: Type.String({ description: 'Its entity tag, for If-Match.' }),
    })
  const change = (declaration: TSchema) => Type.Object({ declaration, comment }, { additionalProperties: false })
  return {
    settings: Type.Object(
      {
        ...versionMembers,
        ...document,
        file: Type.Object(document, { description: 'What the configuration file says, with the built-in limits.' }),
        drift: Type.Array(text, { description: 'What differs from the file, such as tiers/free.' }),
      },
      { title: 'LimitSettings' },
    ),
    version: Type.Object({ ...versionMembers, ...document }, { title: 'LimitVersionDocument' }),
    feed: Type.Object({
      version: Type.Integer(),
      etag: text,
      document: Type.Optional(Type.Object(document)),
      overrides: Type.Array(Type.Record(text, Type.Unknown())),
      clients: Type.Array(Type.Object({ client: text, policy: text })),
    }),
    declared: { tiers: declared(tier), policies: declared(policy) },
    change: { tiers: change(tier), policies: change(policy) },
  }
}

/** The headers of a change. */
export const changeHeaders = IfMatchHeaders

/** One process that applies limits. */
export const gatewaySchema = Type.Object(
  {
    id: text,
    host: text,
    services: Type.Array(text),
    version: Type.Integer({ description: 'The version that applies there; 0 for its file.' }),
    fault: Type.Optional(Type.String({ description: 'Why it does not apply a newer one.' })),
    seen_at: time,
  },
  { title: 'LimitGateway' },
)

/** A user, client or API key on a tier. */
export const tierCallerSchema = Type.Object(
  {
    kind: Type.Unsafe<'user' | 'client' | 'key'>({ type: 'string', enum: ['user', 'client', 'key'] }),
    id: Type.String({ description: 'Of a key the id by which gateways count it, as in `limits`.' }),
    key: Type.Optional(
      Type.Object(
        { id: text, name: text, owner: text },
        { description: 'The API key with a plan of its own. Keys without one count by the plan of their owner.' },
      ),
    ),
    plan: Type.Optional(Type.String({ description: 'Its plan; absent for the default one.' })),
    policy: Type.Optional(
      Type.String({ description: 'The policy of a client, which counts in place of the tier, for its keys too.' }),
    ),
  },
  { title: 'TierCaller' },
)

/** What a process reports. */
export const GatewayReport = Type.Object(
  {
    host: Type.String({ minLength: 1, maxLength: 255 }),
    services: Type.Array(Type.String({ maxLength: 32 }), { maxItems: 8 }),
    version: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }),
    fault: Type.Optional(Type.String({ maxLength: 2_000 })),
  },
  { additionalProperties: false },
)

/** An override as it is set. */
export const OverrideBody = Type.Object(
  {
    policy: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'A tier or policy in its place.' })),
    factor: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 1_000, description: 'Multiplies the limits of the tier.' }),
    ),
    until: Type.String({ format: 'date-time', description: 'When it ends, at most a year from now.' }),
    reason: Type.String({ minLength: 1, maxLength: 500, description: 'Why.' }),
  },
  { additionalProperties: false },
)

/** An override as it is read. */
export const overrideSchema = Type.Object(
  {
    kind: text,
    id: text,
    policy: Type.Optional(text),
    factor: Type.Optional(Type.Number()),
    until: time,
    reason: text,
    author: Type.Optional(text),
    created_at: time,
  },
  { title: 'LimitOverride' },
)

/** The path of an override. */
export const overrideParams = Type.Object({
  kind: Type.String({ pattern: '^(user|client|key|ip)$', description: 'user, client, key or ip.' }),
  id: Type.String({ minLength: 1, maxLength: 512, description: 'The subject, the hash of the API key, the address.' }),
})
