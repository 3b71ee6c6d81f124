import { type Clock, type Log, type PageRequest, Problem, selectPage } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Audit, AuditedChange } from '../context/audit.ts'
import { maskReason } from '../model/masking.ts'
import { deviceFault } from '../providers/device-fault.ts'
import type { AccessControl } from '../request/caller.ts'
import type { UserParams } from '../request/schemas.ts'
import type { Device, Devices } from '../store/store.ts'
import type { DeviceParams, DeviceSettings } from './schemas/devices.ts'

/** What the endpoints of devices need. */
export interface DeviceContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Devices
  /** The push providers check the shape of a token. */
  readonly providers: readonly Provider[]
  /** Maximum number of devices per user. */
  readonly limit: number
  readonly clock: Clock
  readonly log: Log
}

type DeviceRequest = FastifyRequest<{ Params: Static<typeof DeviceParams> }>

/** GET /v1/users/{id}/devices: a user's devices, the dead ones too. A token is written and never read back. */
export function listDevices({ access, store }: DeviceContext) {
  return async (request: FastifyRequest<{ Params: Static<typeof UserParams>; Querystring: PageRequest }>) => {
    const { id } = request.params
    const devices = await store.list(id)
    const visible = access.masks(request, id) ? devices.map(maskDevice) : devices
    const keyOf = ({ registered_at, device_id }: ReturnType<typeof formatDevice>) => `${registered_at} ${device_id}`
    return selectPage(
      visible.map((device) => formatDevice(id, device)),
      request.query,
      keyOf,
      'descending',
    )
  }
}

/** PUT /v1/users/{id}/devices/{device_id}: registers a device; over the limit, the oldest is dropped. */
export function registerDevice(context: DeviceContext) {
  const { access, store, providers, limit, clock } = context
  return async (
    request: FastifyRequest<{ Params: Static<typeof DeviceParams>; Body: Static<typeof DeviceSettings> }>,
  ) => {
    const { params, body } = request
    const device = { deviceId: params.device_id, token: body.token, service: body.service ?? 'fcm' }
    // Whoever adds a device for somebody else reads what is pushed to them.
    access.refuseOldSignIn(request, params.id)
    refuseToken(providers, device)
    if (access.manages(request, params.id)) {
      const before = (await store.list(params.id)).find(({ deviceId }) => deviceId === device.deviceId)
      // The trail holds no token; registered_at shows that there is a new one.
      await auditDevice(context, request, 'devices.register', {
        ...(before ? { before: { service: before.service } } : {}),
        after: { service: device.service, registered_at: new Date(clock.now()).toISOString() },
      })
    }
    const registeredAt = clock.now()
    const dropped = await store.put(params.id, device, registeredAt, limit)
    const record = formatDevice(params.id, { ...device, registeredAt })
    if (dropped.length === 0) return record
    await recordDropped(context, request, dropped)
    return { ...record, dropped_devices: dropped.map(({ deviceId }) => deviceId) }
  }
}

/** DELETE /v1/users/{id}/devices/{device_id} */
export function deleteDevice(context: DeviceContext) {
  const { access, store } = context
  return async (request: DeviceRequest, reply: FastifyReply) => {
    const { id, device_id: deviceId } = request.params
    access.refuseOldSignIn(request, id)
    if (access.manages(request, id)) {
      const found = (await store.list(id)).find((device) => device.deviceId === deviceId)
      if (!found) throw notFound(id, deviceId)
      await auditDevice(context, request, 'devices.remove', { before: { service: found.service } })
    }
    if (!(await store.remove(id, deviceId))) throw notFound(id, deviceId)
    return reply.code(204).send(null)
  }
}

function auditDevice(
  { audit }: DeviceContext,
  request: DeviceRequest,
  action: string,
  change: Pick<AuditedChange, 'before' | 'after'>,
): Promise<void> {
  const { id, device_id: deviceId } = request.params
  return audit(request, { action, target: { type: 'device', id: `${id}/${deviceId}` }, ...change })
}

/** Devices over the limit are known only once they are gone: when the trail is unavailable, the log records them. */
async function recordDropped(
  { access, audit, limit, log }: DeviceContext,
  request: DeviceRequest,
  dropped: readonly Device[],
): Promise<void> {
  const { id } = request.params
  const devices = dropped.map(({ deviceId }) => deviceId)
  log.info({ user: id, devices, limit }, 'devices were dropped: the user reached the limit')
  if (!access.manages(request, id)) return
  for (const { deviceId, service } of dropped)
    await audit(request, {
      action: 'devices.drop',
      target: { type: 'device', id: `${id}/${deviceId}` },
      before: { service },
    }).catch((error) => log.error({ err: error, user: id, device: deviceId }, 'a dropped device was not audited'))
}

/** @throws Problem 400 for a token that no provider of its service can send to */
function refuseToken(providers: readonly Provider[], device: Omit<Device, 'registeredAt'>): void {
  const detail = deviceFault(providers, device)
  if (detail === undefined) return
  throw new Problem(400, `The body is not valid: /token ${detail}.`, { errors: [{ pointer: '/token', detail }] })
}

function notFound(userId: string, deviceId: string): Problem {
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
