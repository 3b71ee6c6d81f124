import { type Clock, emailAddressExpected, isEmailAddress } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import type { NotifyOptions } from '../config/options.ts'
import { deviceFault } from '../providers/device-fault.ts'
import type { NotifyStore } from '../store/store.ts'
import type { TemplateDeclaration } from '../templates/read-templates.ts'
import { type EventTypeDeclaration, eventTypeOf, type RecipientDeclaration, recipientOf } from './declaration.ts'

/** What the configuration file declares for this service. */
export interface NotifyDeclarations {
  readonly eventTypes?: readonly EventTypeDeclaration[]
  readonly templates?: readonly TemplateDeclaration[]
  readonly recipients?: readonly RecipientDeclaration[]
}

/** The name that no provider may have. */
const orderPath = 'order'

/**
 * Looks through what is declared for what its schema can't see.
 * @throws RangeError with a line for each email address that is none, and for each device whose token none of the
 * providers of its service could carry to
 */
export function checkDeclarations({ recipients = [] }: NotifyDeclarations, providers: readonly Provider[]): void {
  const faults = recipients.flatMap(({ user_id, email, devices }) => [
    ...(email === undefined || isEmailAddress(email) ? [] : [`recipients, ${user_id}: email ${emailAddressExpected}`]),
    ...devicesOf(devices).flatMap((device) => {
      const fault = deviceFault(providers, device)
      return fault === undefined ? [] : [`recipients, ${user_id}: the token of the device ${device.deviceId} ${fault}`]
    }),
  ])
  if (providers.some(({ name }) => name === orderPath))
    faults.push(`no provider may have the name ${orderPath}: /v1/providers/${orderPath} is a path of its own`)
  if (faults.length > 0) throw new RangeError(faults.join('\n'))
}

function devicesOf(declared: RecipientDeclaration['devices'] = []) {
  return declared.map(({ device_id, token, service = 'fcm' }) => ({ deviceId: device_id, token, service }))
}

/** Applies what is declared; what stands in the store as it was last declared, or was changed since, is left alone. */
export async function applyDeclarations(
  store: NotifyStore,
  declared: NotifyDeclarations,
  options: NotifyOptions,
  clock: Clock,
): Promise<void> {
  const now = clock.now()
  const templates = (declared.templates ?? []).map((entry) => ({
    id: JSON.stringify([entry.templateId, entry.channel, entry.locale]),
    entry,
  }))
  await store.declared.templates(templates, now)
  const eventTypes = (declared.eventTypes ?? []).map(({ event, ...settings }) => ({
    id: event,
    entry: eventTypeOf(event, settings, options.aggregationThreshold),
  }))
  await store.declared.eventTypes(eventTypes, now)
  const recipients = (declared.recipients ?? []).map(({ user_id, devices, ...settings }) => ({
    id: user_id,
    entry: {
      recipient: recipientOf(user_id, settings),
      devices: devicesOf(devices),
    },
  }))
  await store.declared.recipients(recipients, now)
}
