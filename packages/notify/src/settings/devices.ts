import { type Clock, type Http, Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { Guards } from '../caller.ts'
import { deviceFault } from '../providers/device-fault.ts'
import type { Provider } from '../providers/provider.ts'
import type { Device, Devices } from '../store.ts'

const User = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) })
const OneDevice = Type.Object({ ...User.properties, device_id: Type.String({ minLength: 1, maxLength: 256 }) })

const DeviceSettings = Type.Object(
  {
    token: Type.String({
      minLength: 1,
      maxLength: 4096,
      description: "The push provider's token, or a Web Push subscription as JSON",
    }),
    service: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 50,
        description: 'The push service, such as fcm, apns or web',
        default: 'fcm',
      }),
    ),
  },
  { title: 'DeviceSettings', additionalProperties: false },
)

const DeviceRecord = Type.Object(
  {
    user_id: Type.String(),
    device_id: Type.String(),
    service: Type.String(),
    registered_at: Type.String({ format: 'date-time' }),
    dead_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'Since when its push service calls it gone' }),
    ),
    dead_reason: Type.Optional(Type.String()),
  },
  { title: 'Device' },
)

export interface DeviceRoutes {
  readonly guards: Guards
  readonly store: Devices
  /** Those that carry push know what a token of theirs looks like. */
  readonly providers: readonly Provider[]
  readonly clock: Clock
}

/** A user's devices, the dead ones too. A token is written and never read back. */
export function deviceEndpoints(http: Http, { guards, store, providers, clock }: DeviceRoutes): void {
  const { own, admin } = guards.scopes
  const about = (summary: string) => ({
    tags: ['devices'],
    summary,
    security: [{ bearer: [own] }, { bearer: [admin] }],
  })

  http.get(
    '/v1/users/:id/devices',
    {
      onRequest: guards.own,
      schema: {
        ...about("A user's devices"),
        params: User,
        response: { 200: Type.Object({ devices: Type.Array(DeviceRecord) }) },
      },
    },
    async ({ params }) => ({ devices: (await store.list(params.id)).map((device) => written(params.id, device)) }),
  )
  http.put(
    '/v1/users/:id/devices/:device_id',
    {
      onRequest: guards.own,
      schema: {
        ...about('Registers a device or its new token'),
        params: OneDevice,
        body: DeviceSettings,
        response: { 200: DeviceRecord },
      },
    },
    async ({ params, body }) => {
      const device = { deviceId: params.device_id, token: body.token, service: body.service ?? 'fcm' }
      refuseToken(providers, device)
      const registeredAt = clock.now()
      await store.put(params.id, device, registeredAt)
      return written(params.id, { ...device, registeredAt })
    },
  )
  http.delete(
    '/v1/users/:id/devices/:device_id',
    {
      onRequest: guards.own,
      schema: { ...about('Removes a device'), params: OneDevice, response: { 204: Type.Null() } },
    },
    async ({ params }, reply) => {
      if (!(await store.remove(params.id, params.device_id)))
        throw new Problem(404, `The user ${params.id} has no device ${params.device_id}.`)
      return reply.code(204).send(null)
    },
  )
}

/** A token that no provider of its service could carry to is refused. */
function refuseToken(providers: readonly Provider[], device: Omit<Device, 'registeredAt'>) {
  const detail = deviceFault(providers, device)
  if (detail === undefined) return
  throw new Problem(400, `The body is not valid: /token ${detail}.`, { errors: [{ pointer: '/token', detail }] })
}

function written(userId: string, { deviceId, service, registeredAt, deadAt, deadReason }: Device) {
  return {
    user_id: userId,
    device_id: deviceId,
    service,
    registered_at: new Date(registeredAt).toISOString(),
    ...(deadAt === undefined ? {} : { dead_at: new Date(deadAt).toISOString() }),
    ...(deadReason === undefined ? {} : { dead_reason: deadReason }),
  }
}
