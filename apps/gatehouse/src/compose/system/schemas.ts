import { Type } from 'typebox'
import { operation } from '../../docs/operations.ts'
import { securityOf, systemScopes } from './access.ts'
import { liveTopics } from './live.ts'

const tags = ['operations']
const Instant = Type.String({ format: 'date-time' })

const Warning = Type.Object(
  {
    code: Type.String({ description: 'Which it is: a closed set of words with underscores.' }),
    severity: Type.Enum(['error', 'warning', 'info']),
    subject: Type.Optional(Type.String({ description: 'What it is about, such as a provider.' })),
    since: Type.String({ format: 'date-time' }),
    count: Type.Optional(Type.Integer()),
  },
  { title: 'Warning' },
)

const Status = Type.Object(
  {
    instance: Type.String({ description: 'This process, until it ends.' }),
    status: Type.Enum(['ready', 'degraded', 'unavailable']),
    services: Type.Array(Type.String()),
    version: Type.String(),
    node: Type.String(),
    started_at: Instant,
    engines: Type.Array(Type.Object({ name: Type.String(), state: Type.String(), kind: Type.Optional(Type.String()) })),
    warnings: Type.Array(Warning, { description: 'What an operator should look at, the worst first.' }),
  },
  { title: 'SystemStatus' },
)

const Step = Type.Object(
  {
    id: Type.String(),
    done: Type.Boolean(),
    evidence: Type.Record(
      Type.String(),
      Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Array(Type.String())]),
      { description: 'What shows it.' },
    ),
  },
  { title: 'SetupStep' },
)

const Value = Type.Object(
  {
    name: Type.String({ description: 'The variable of the environment, or the path in the file.' }),
    origin: Type.Enum(['environment', 'file', 'default']),
    value: Type.Union([Type.String(), Type.Number(), Type.Boolean()], {
      description: 'Of a secret `set` or `unset`; of a list its length.',
    }),
    secret: Type.Boolean({ description: 'Whether it may be a credential, so that it is not shown.' }),
  },
  { title: 'EffectiveValue' },
)

const Table = Type.Object(
  {
    schema: Type.String(),
    table: Type.String(),
    bytes: Type.Integer({ description: 'With indexes and partitions.' }),
    rows: Type.Optional(Type.Integer({ description: 'By the statistics of the planner.' })),
    grown: Type.Optional(
      Type.Object(
        { bytes: Type.Integer(), since: Instant },
        { description: 'Since this process knows, a week at most.' },
      ),
    ),
  },
  { title: 'TableSize' },
)

const Drift = Type.Object(
  {
    service: Type.String(),
    kind: Type.String({ description: 'client, user, organization, connection, event_type or template.' }),
    id: Type.String({ description: 'Of a template also the channel and the language, with slashes between.' }),
    applied_at: Instant,
    changed_at: Type.Optional(Type.String({ format: 'date-time', description: 'Left out for what was deleted.' })),
  },
  { title: 'Drift' },
)

const statusSecurity = securityOf(systemScopes.status)

/** GET /admin/v1/status */
export const getStatus = { tags, ...operation('status.get'), security: statusSecurity, response: { 200: Status } }

/** GET /admin/v1/setup */
export const getSetup = {
  tags,
  ...operation('setup.get'),
  security: statusSecurity,
  response: { 200: Type.Object({ items: Type.Array(Step) }) },
}

/** GET /admin/v1/config */
export const getConfig = {
  tags,
  ...operation('config.get'),
  security: securityOf(systemScopes.config),
  response: { 200: Type.Object({ items: Type.Array(Value) }) },
}

/** GET /admin/v1/storage */
export const getStorage = {
  tags,
  ...operation('storage.get'),
  security: securityOf(systemScopes.config),
  response: { 200: Type.Object({ items: Type.Array(Table) }) },
}

/** GET /admin/v1/drift */
export const getDrift = {
  tags,
  ...operation('drift.get'),
  security: securityOf(systemScopes.config),
  response: { 200: Type.Object({ items: Type.Array(Drift) }) },
}

/** The query of GET /admin/v1/live. */
const LiveQuery = Type.Object(
  {
    topics: Type.Optional(
      Type.String({
        pattern: `^(${Object.keys(liveTopics).join('|')})(,(${Object.keys(liveTopics).join('|')})){0,2}$`,
        description: `Of ${Object.keys(liveTopics).join(', ')}, with commas between; all without it.`,
      }),
    ),
  },
  { additionalProperties: false },
)

/** GET /admin/v1/live */
export const getLive = {
  tags,
  ...operation('live.get'),
  security: statusSecurity,
  querystring: LiveQuery,
  response: {
    200: {
      description: 'Events `counters` with `{at, counters: {name, labels, value}[]}`.',
      content: { 'text/event-stream': { schema: Type.String() } },
    },
  },
}
