import type { Provider } from '@gatehouse/providers'

/** A device to be registered. */
interface RegisteredDevice {
  readonly deviceId: string
  readonly token: string
  readonly service: string
}

/**
 * Why the token of a device is invalid for all providers of its service. Undefined if one accepts its form, if there is no
 * provider, or if a provider does not check tokens.
 */
export function deviceFault(
  providers: readonly Provider[],
  { deviceId: id, token: address, service }: RegisteredDevice,
): string | undefined {
  const supporting = providers.filter((each) => each.channel === 'push' && each.supports?.({ id, address, service }))
  const faults = supporting.map((each) => each.checkToken?.(address))
  return faults.includes(undefined) ? undefined : faults[0]
}
