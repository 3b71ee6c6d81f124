import { Problem } from '@gatehouse/kit'
import type { EventType } from '../model/notification/event-type.ts'
import type { NotifyRequest } from '../model/notification/notification.ts'
import type { EventTypes, NotifyStore, Profile, Templates } from '../store/store.ts'
import type { TemplateDeclaration } from '../templates/read-templates.ts'
import type { TemplateText } from '../templates/template.ts'
import { type EventTypeDeclaration, eventTypeOf } from './declaration.ts'

/**
 * Event types that belong to another service of the program, whose mails let people into accounts. They and their texts
 * come from the configuration alone: nothing that is stored, and so nothing that the management changes, takes their place.
 */
export interface ReservedDeclarations {
  /** The service they belong to, as problems name it. */
  readonly owner: string
  /** Sent at once and sensitive, whatever else they say; mailed unless `sms` is their only channel. */
  readonly eventTypes: readonly EventTypeDeclaration[]
  /** The texts of the templates that these event types name. */
  readonly templates: readonly TemplateDeclaration[]
}

/**
 * A mail of a reserved event type, or a text message: it goes to the address that comes with it, whatever is stored of
 * the user. It has exactly one, that of the channel of its event type.
 */
export interface ReservedMail extends Omit<NotifyRequest, 'channels'> {
  readonly email?: string | undefined
  /** E.164. */
  readonly phone_number?: string | undefined
  /** BCP 47; left out: the default. */
  readonly locale?: string
}

/** What is reserved, looked up. */
export interface Reserved {
  readonly eventTypes: ReadonlyMap<string, EventType>
  readonly texts: readonly TemplateText[]
  hasTemplate(templateId: string): boolean
  /** @throws Problem 403 for a reserved event type */
  refuseEventType(event: string): void
  /** @throws Problem 403 for a template of a reserved event type */
  refuseTemplate(templateId: string): void
}

const nothing: ReservedDeclarations = { owner: '', eventTypes: [], templates: [] }

/** Parses the reserved event types and their texts. @throws RangeError for a text that does not parse */
export function parseReserved({ owner, eventTypes, templates }: ReservedDeclarations = nothing): Reserved {
  const known = new Map(
    eventTypes.map(({ event, ...settings }) => [
      event,
      {
        ...eventTypeOf(event, settings, 1),
        ...sentAtOnce,
        channels: [reservedChannel(settings.channels)],
      },
    ]),
  )
  const templateIds = new Set([...known.values()].map(({ templateId }) => templateId))
  const from = `belongs to ${owner}: it and its texts are changed in the configuration (the templates folder) alone`
  return {
    eventTypes: known,
    texts: templates.filter(({ templateId }) => templateIds.has(templateId)).map((text) => ({ ...text, version: 1 })),
    hasTemplate: (templateId) => templateIds.has(templateId),
    refuseEventType(event) {
      if (known.has(event)) throw new Problem(403, `The event type ${event} ${from}.`)
    },
    refuseTemplate(templateId) {
      if (templateIds.has(templateId)) throw new Problem(403, `The template ${templateId} ${from}.`)
    },
  }
}

const sentAtOnce = { priority: 'critical', sensitive: true } as const satisfies Partial<EventType>

function reservedChannel(channels: EventTypeDeclaration['channels'] = []): 'email' | 'sms' {
  return channels.length === 1 && channels[0] === 'sms' ? 'sms' : 'email'
}

/** The store as everybody reads it: what is reserved stands in the place of whatever is stored under its names. */
export function hideReserved(store: NotifyStore, reserved: Reserved): NotifyStore {
  return {
    ...store,
    eventTypes: reservedEventTypes(store.eventTypes, reserved),
    templates: reservedTemplates(store.templates, reserved),
  }
}

function reservedEventTypes(store: EventTypes, { eventTypes }: Reserved): EventTypes {
  return {
    ...store,
    async list() {
      const stored = (await store.list()).filter(({ event }) => !eventTypes.has(event))
      return [...stored, ...eventTypes.values()].sort((a, b) => (a.event < b.event ? -1 : 1))
    },
  }
}

function reservedTemplates(store: Templates, { texts, hasTemplate }: Reserved): Templates {
  return {
    ...store,
    async listPublished() {
      const stored = (await store.listPublished()).filter(({ templateId }) => !hasTemplate(templateId))
      return [...stored, ...texts]
    },
    async listSummaries() {
      const stored = (await store.listSummaries()).filter(({ templateId }) => !hasTemplate(templateId))
      const reserved = texts.map(({ templateId, channel, locale, version }) => ({
        templateId,
        channel,
        locale,
        version,
      }))
      return [...stored, ...reserved.map((key) => ({ ...key, latest: key.version, published: key.version }))]
    },
    async listVersions(templateId) {
      if (!hasTemplate(templateId)) return store.listVersions(templateId)
      return texts.filter((text) => text.templateId === templateId).map((text) => ({ ...text, published: true }))
    },
  }
}

/** The user as a reserved mail has them: at its own address, and with no wishes of theirs. */
export function profileFor(mail: ReservedMail, { suppressions }: Profile): Profile {
  const { user_id: userId, email, phone_number: phoneNumber, locale } = mail
  const recipient = {
    userId,
    ...(email === undefined ? {} : { email }),
    ...(phoneNumber === undefined ? {} : { phoneNumber }),
    ...(locale === undefined ? {} : { locale }),
  }
  return { recipient, preferences: [], devices: [], suppressions }
}
