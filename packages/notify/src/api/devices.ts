import { type Clock, type Http, type Log, Problem } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Audit, AuditedChange } from '../context/audit.ts'
import { maskReason } from '../model/masking.ts'
import { deviceFault } from '../providers/device-fault.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import type { Device, Devices } from '../store/store.ts'

const User = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256, description: 'The user.' }) })
const OneDevice = Type.Object({
  ...User.properties,
  device_id: Type.String({ minLength: 1, maxLength: 256, description: 'The device, as the app names it.' }),
})

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

const Registered = Type.Object(
  {
    ...DeviceRecord.properties,
    dropped_devices: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Devices that the user no longer has because this one would have been one too many',
      }),
    ),
  },
  { title: 'RegisteredDevice' },
)

type DeviceRequest = FastifyRequest<{ Params: Static<typeof OneDevice> }>

export interface DeviceRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Devices
  /** Those that carry push know what a token of theirs looks like. */
  readonly providers: readonly Provider[]
  /** Most devices of a user. */
  readonly limit: number
  readonly clock: Clock
  readonly log: Log
}

/** A user's devices, the dead ones too. A token is written and never read back. */
export function deviceEndpoints(
  http: Http,
  { access, audit, store, providers, limit, clock, log }: DeviceRoutes,
): void {
  const about = (id: OperationId, required: 'readOwn' | 'changeOwn' = 'changeOwn') => ({
    tags: ['devices'],
    ...operation(id),
    security: access.security(required),
  })

  const auditDevice = (request: DeviceRequest, action: string, change: Pick<AuditedChange, 'before' | 'after'>) => {
    const { id, device_id: deviceId } = request.params
    return audit(request, { action, target: { type: 'device', id: `${id}/${deviceId}` }, ...change })
  }

  /** What is over the bound is known once it is gone: a trail that can't be written then leaves it to the log. */
  const recordDropped = async (request: DeviceRequest, dropped: readonly Device[]) => {
    const { id } = request.params
    const devices = dropped.map(({ deviceId }) => deviceId)
    log.info({ user: id, devices, limit }, 'devices were dropped: their user has as many as allowed')
    if (!access.manages(request, id)) return
    for (const { deviceId, service } of dropped)
      await audit(request, {
        action: 'devices.drop',
        target: { type: 'device', id: `${id}/${deviceId}` },
        before: { service },
      }).catch((error) => log.error({ err: error, user: id, device: deviceId }, 'a dropped device was not audited'))
  }

  http.get(
    '/v1/users/:id/devices',
    {
      onRequest: access.allowUnder('readOwn'),
      schema: {
        ...about('devices.list', 'readOwn'),
        params: User,
        response: { 200: Type.Object({ devices: Type.Array(DeviceRecord) }) },
      },
    },
    async (request) => {
      const { id } = request.params
      const devices = await store.list(id)
      const shown = access.masks(request, id) ? devices.map(maskDevice) : devices
      return { devices: shown.map((device) => formatDevice(id, device)) }
    },
  )
  http.put(
    '/v1/users/:id/devices/:device_id',
    {
      onRequest: access.allowUnder('changeOwn'),
      schema: {
        ...about('devices.register'),
        params: OneDevice,
        body: DeviceSettings,
        response: { 200: Registered },
      },
    },
    async (request) => {
      const { params, body } = request
      const device = { deviceId: params.device_id, token: body.token, service: body.service ?? 'fcm' }
      refuseToken(providers, device)
      if (access.manages(request, params.id)) {
        const before = (await store.list(params.id)).find(({ deviceId }) => deviceId === device.deviceId)
        // a token is never kept; that there is a new one shows in the time
        await auditDevice(request, 'devices.register', {
          ...(before ? { before: { service: before.service } } : {}),
          after: { service: device.service, registered_at: new Date(clock.now()).toISOString() },
        })
      }
      const registeredAt = clock.now()
      const dropped = await store.put(params.id, device, registeredAt, limit)
      const record = formatDevice(params.id, { ...device, registeredAt })
      if (dropped.length === 0) return record
      await recordDropped(request, dropped)
      return { ...record, dropped_devices: dropped.map(({ deviceId }) => deviceId) }
    },
  )
  http.delete(
    '/v1/users/:id/devices/:device_id',
    {
      onRequest: access.allowUnder('changeOwn'),
      schema: { ...about('devices.delete'), params: OneDevice, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      const { id, device_id: deviceId } = request.params
      if (access.manages(request, id)) {
        const found = (await store.list(id)).find((device) => device.deviceId === deviceId)
        if (!found) throw missing(id, deviceId)
        await auditDevice(request, 'devices.remove', { before: { service: found.service } })
      }
      if (!(await store.remove(id, deviceId))) throw missing(id, deviceId)
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

function missing(userId: string, deviceId: string): Problem {
  return new Problem(404, `The user ${userId} has no device ${deviceId}.`)
}

function maskDevice({ deadReason, ...device }: Device): Device {
  return { ...device, ...(deadReason === undefined ? {} : { deadReason: maskReason(deadReason) }) }
}

function formatDevice(userId: string, { deviceId, service, registeredAt, deadAt, deadReason }: Device) {
  return {
    user_id: userId,
    device_id: deviceId,
    service,
    registered_at: new Date(registeredAt).toISOString(),
    ...(deadAt === undefined ? {} : { dead_at: new Date(deadAt).toISOString() }),
    ...(deadReason === undefined ? {} : { dead_reason: deadReason }),
  }
}
