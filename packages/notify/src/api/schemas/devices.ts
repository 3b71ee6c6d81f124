import { PageQuery, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { describeOperation } from '../../request/route-options.ts'
import { NoContent, UserParams } from '../../request/schemas.ts'

/** The parameters of `/v1/users/{id}/devices/{device_id}`. */
export const DeviceParams = Type.Object({
  ...UserParams.properties,
  device_id: Type.String({ minLength: 1, maxLength: 256, description: 'The device, as the app names it.' }),
})

/** The body that registers a device. */
export const DeviceSettings = Type.Object(
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

const Device = Type.Object(
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

const RegisteredDevice = Type.Object(
  {
    ...Device.properties,
    dropped_devices: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Devices that the user no longer has because this one would have been one too many',
      }),
    ),
  },
  { title: 'RegisteredDevice' },
)

/** GET /v1/users/{id}/devices */
export const listDevices = describeOperation('users.devices.list', {
  params: UserParams,
  querystring: PageQuery,
  response: { 200: pageSchema(Device) },
})

/** PUT /v1/users/{id}/devices/{device_id} */
export const registerDevice = describeOperation('users.devices.register', {
  params: DeviceParams,
  body: DeviceSettings,
  response: { 200: RegisteredDevice },
})

/** DELETE /v1/users/{id}/devices/{device_id} */
export const deleteDevice = describeOperation('users.devices.delete', {
  params: DeviceParams,
  response: { 204: NoContent },
})
