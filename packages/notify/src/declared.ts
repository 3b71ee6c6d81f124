import type { Clock } from '@gatehouse/kit'
import { type EventTypeDeclaration, eventTypeOf, type RecipientDeclaration, recipientOf } from './declaration.ts'
import type { NotifyOptions } from './options.ts'
import type { TemplateDeclaration } from './read-templates.ts'
import type { NotifyStore } from './store.ts'

/** What the configuration file declares for this service. */
export interface NotifyDeclarations {
  readonly eventTypes?: readonly EventTypeDeclaration[]
  readonly templates?: readonly TemplateDeclaration[]
  readonly recipients?: readonly RecipientDeclaration[]
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
      devices: (devices ?? []).map(({ device_id, token, service }) => ({
        deviceId: device_id,
        token,
        service: service ?? 'fcm',
      })),
    },
  }))
  await store.declared.recipients(recipients, now)
}
