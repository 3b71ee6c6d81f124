import type { Provider } from '@gatehouse/providers'

interface RegisteredDevice {
  readonly deviceId: string
  readonly token: string
  readonly service: string
}

/**
 * Why no provider of its service could carry to a device, for what its token is; undefined where one could, where there
 * is none, or where they can't tell.
 */
export function deviceFault(
  providers: readonly Provider[],
  { deviceId: id, token: address, service }: RegisteredDevice,
): string | undefined {
  const able = providers.filter((each) => each.channel === 'push' && each.supports?.({ id, address, service }))
  const faults = able.map((each) => each.checkToken?.(address))
  return faults.includes(undefined) ? undefined : faults[0]
}
