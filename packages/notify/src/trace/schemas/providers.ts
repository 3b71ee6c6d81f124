import { IfMatchHeaders, PageQuery, pageSchema } from '@gatehouse/kit'
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

const ProviderError = Type.Object(
  {
    fingerprint: Type.String({ description: 'The same for answers that differ in ids alone.' }),
    result: Type.String({ description: '`transient`, `ambiguous`, `permanent`, `misconfigured`, …' }),
    count: Type.Integer(),
    sample: Type.String({ description: 'The last one, without addresses, quotes and ids.' }),
    first_at: Type.String({ format: 'date-time' }),
    last_at: Type.String({ format: 'date-time' }),
  },
  { title: 'ProviderError' },
)

const ProviderWebhook = Type.Object(
  {
    path: Type.String({ description: 'Where it reports.' }),
    last_at: Type.Optional(Type.String({ format: 'date-time', description: 'When a report was accepted last.' })),
    refused: Type.Integer({ description: 'How many that it signed were refused.' }),
    refused_at: Type.Optional(Type.String({ format: 'date-time' })),
    refusal: Type.Optional(Type.String({ description: 'Why the last one was refused.' })),
    unverified: Type.Integer({
      description: 'How many came of which it is not known who sent them; anybody can send such ones.',
    }),
    unverified_at: Type.Optional(Type.String({ format: 'date-time' })),
    unverified_reason: Type.Optional(Type.String({ description: 'Why the last one could not be verified.' })),
  },
  { title: 'ProviderWebhook', description: 'Left out where it reports nothing, or its reports are not configured.' },
)

const Provider = Type.Object(
  {
    name: Type.String(),
    channel: Type.Enum([...channels]),
    place: Type.Integer({ description: 'Its place among the providers of the channel; 1 is preferred.' }),
    kind: Type.Optional(Type.String({ description: 'What kind of provider it is, such as `ses`.' })),
    credentials: Type.Optional(
      Type.String({ description: 'The setting that has its credentials; never their value.' }),
    ),
    state: Type.Enum(['closed', 'open', 'probing', 'paused', 'misconfigured'], {
      description:
        'Of its breaker, which all processes share: `closed` is called; `misconfigured` rejects our credentials or account; or `paused` by the management.',
    }),
    open_until: Type.Optional(Type.String({ format: 'date-time', description: 'When it may be probed.' })),
    paused_until: Type.Optional(Type.String({ format: 'date-time' })),
    problem: Type.Optional(Type.String({ description: 'What it answered where it is misconfigured.' })),
    counted_since: Type.String({ format: 'date-time', description: 'An hour ago, to the minute.' }),
    calls: Type.Integer({ description: 'Messages that it was called with since then, over all processes.' }),
    failures: Type.Integer({ description: 'Of those, what failed and was no fault of the address.' }),
    rejections: Type.Integer({ description: 'Of those, what was rejected for good, or went to a dead token.' }),
    p50_ms: Type.Optional(Type.Integer({ description: 'Half of the calls took no longer, to a fifth.' })),
    p95_ms: Type.Optional(Type.Integer({ description: '95 % of the calls took no longer, to a fifth.' })),
    errors: Type.Array(ProviderError, {
      description: 'What it answered to calls that failed, the most frequent first.',
    }),
    webhook: Type.Optional(ProviderWebhook),
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
  headers: IfMatchHeaders,
  body: PauseBody,
  response: { 200: Provider },
})

/** POST /v1/providers/{name}/resume */
export const resumeProvider = describeOperation('providers.resume', {
  params: ProviderParams,
  headers: IfMatchHeaders,
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

const ChannelName = Type.Enum([...channels], { description: 'The channel.' })

/** The query of GET /v1/providers/order. */
export const OrderQuery = Type.Object({ channel: ChannelName }, { additionalProperties: false })

/** The body of PUT /v1/providers/order. */
export const OrderBody = Type.Object(
  {
    channel: ChannelName,
    providers: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
      description: 'Every provider of the channel, the preferred first.',
    }),
  },
  { additionalProperties: false },
)

const ProviderOrder = Type.Object(
  { channel: ChannelName, providers: Type.Array(Type.String()) },
  { title: 'ProviderOrder' },
)

/** GET /v1/providers/order */
export const getProviderOrder = describeOperation('providers.order.get', {
  querystring: OrderQuery,
  response: { 200: ProviderOrder },
})

/** PUT /v1/providers/order */
export const updateProviderOrder = describeOperation('providers.order.update', {
  headers: IfMatchHeaders,
  body: OrderBody,
  response: { 200: ProviderOrder },
})
