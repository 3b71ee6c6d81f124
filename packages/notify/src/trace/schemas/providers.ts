import { PageQuery, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { describeOperation } from '../../request/route-options.ts'

/** The parameters of `/v1/providers/{name}`. */
export const ProviderParams = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, description: 'The name of the provider.' }),
})

/** The body of POST /v1/providers/{name}/pause. */
export const PauseBody = Type.Object(
  {
    until: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'When the pause ends; where it is left out, when it is resumed.',
      }),
    ),
  },
  { additionalProperties: false },
)

const Provider = Type.Object(
  {
    name: Type.String(),
    channel: Type.Enum([...channels]),
    place: Type.Integer({ description: 'Its place among the providers of the channel; 1 is preferred.' }),
    state: Type.Enum(['closed', 'open', 'probing', 'paused'], {
      description: 'Of its breaker, which all processes share: `closed` is called; or `paused` by the management.',
    }),
    open_until: Type.Optional(Type.String({ format: 'date-time', description: 'When it may be probed.' })),
    paused_until: Type.Optional(Type.String({ format: 'date-time' })),
    counted_since: Type.Optional(
      Type.String({ format: 'date-time', description: 'The beginning of the window that its breaker counts in.' }),
    ),
    calls: Type.Integer({ description: 'In that window.' }),
    failures: Type.Integer({ description: 'Of those calls.' }),
    webhook_path: Type.Optional(Type.String({ description: 'Where it reports, if it does.' })),
  },
  { title: 'Provider' },
)

/** GET /v1/providers */
export const listProviders = describeOperation('providers.list', {
  querystring: PageQuery,
  response: { 200: pageSchema(Provider) },
})

/** GET /v1/providers/{name} */
export const getProvider = describeOperation('providers.get', { params: ProviderParams, response: { 200: Provider } })

/** POST /v1/providers/{name}/pause */
export const pauseProvider = describeOperation('providers.pause', {
  params: ProviderParams,
  body: PauseBody,
  response: { 200: Provider },
})

/** POST /v1/providers/{name}/resume */
export const resumeProvider = describeOperation('providers.resume', {
  params: ProviderParams,
  response: { 200: Provider },
})

/** The body of POST /v1/providers/{name}/test. */
export const ProviderTestBody = Type.Object(
  {
    to: Type.String({ minLength: 1, maxLength: 4_096, description: 'An email address, phone number or push token.' }),
    service: Type.Optional(Type.String({ maxLength: 100, description: 'Of a push token: `fcm`, `apns` or `web`.' })),
  },
  { additionalProperties: false },
)

const ProviderTest = Type.Object(
  {
    result: Type.String({ description: '`accepted`, `transient`, `permanent`, `misconfigured`, …' }),
    code: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
    provider_message_id: Type.Optional(Type.String()),
    duration_ms: Type.Integer(),
  },
  { title: 'ProviderTest' },
)

/** POST /v1/providers/{name}/test */
export const testProvider = describeOperation('providers.test', {
  params: ProviderParams,
  body: ProviderTestBody,
  response: { 200: ProviderTest },
})
