import type { Clock, Http } from '@gatehouse/kit'
import type { Guards } from './caller.ts'
import type { CatalogKeeper } from './catalog.ts'
import { deadLetterEndpoints } from './dead-letters/endpoint.ts'
import { mailboxEndpoints } from './dev/endpoint.ts'
import { inboxEndpoint } from './inbox/endpoint.ts'
import type { Accept } from './intake/accept.ts'
import { notifyEndpoint } from './intake/endpoint.ts'
import type { NotifyOptions } from './options.ts'
import { scheduleEndpoints } from './schedule/endpoint.ts'
import { deviceEndpoints } from './settings/devices.ts'
import { eventTypeEndpoints } from './settings/event-types.ts'
import { preferenceEndpoints } from './settings/preferences.ts'
import { recipientEndpoints } from './settings/recipients.ts'
import { templateEndpoints } from './settings/templates.ts'
import type { NotifyStore } from './store.ts'
import { notificationEndpoint } from './tracking/endpoint.ts'

export interface Routes {
  readonly guards: Guards
  readonly accept: Accept
  readonly catalog: CatalogKeeper
  readonly store: NotifyStore
  readonly options: NotifyOptions
  readonly clock: Clock
  /** Told after dead letters were given back to be delivered. */
  readonly onReplayed: () => void
  /** Mounts /dev/mailbox. */
  readonly devMailbox: boolean
}

/** Every endpoint of the service. */
export async function routes(
  http: Http,
  { guards, accept, catalog, store, options, clock, onReplayed, devMailbox }: Routes,
): Promise<void> {
  notifyEndpoint(http, guards, accept)
  scheduleEndpoints(http, guards, store.schedule, catalog)
  const { deadLetters, notifications } = store
  deadLetterEndpoints(http, { guards, store: deadLetters, notifications, clock, onReplayed })
  notificationEndpoint(http, guards, store.notifications)
  eventTypeEndpoints(http, { guards, store: store.eventTypes, catalog, options, clock })
  templateEndpoints(http, guards, store.templates, clock)
  recipientEndpoints(http, guards, store.recipients, clock)
  preferenceEndpoints(http, guards, store.preferences, clock)
  deviceEndpoints(http, guards, store.devices, clock)
  inboxEndpoint(http, guards, store.inbox)
  if (devMailbox) {
    const { mailbox, deliveries, devices } = store
    await http.register((scope) => mailboxEndpoints(scope as Http, { mailbox, deliveries, devices, clock }))
  }
}
