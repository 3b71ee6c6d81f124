import type { EventType } from '../model/notification/event-type.ts'
import type { Data } from '../model/notification/notification.ts'
import type { TemplateText } from '../templates/template.ts'
import type { Device, Recipient } from './users.ts'

/** The event types that the API stored. */
export interface EventTypes {
  /** Changes whenever an event type or a template does. */
  version(): Promise<number>
  list(): Promise<readonly EventType[]>
  /** Stores it; where one is expected, only as long as it is that. False if it is not. */
  put(eventType: EventType, now: number, expected?: EventType): Promise<boolean>
  remove(event: string): Promise<boolean>
}

/** What names the text of a template: its versions differ in nothing else. */
export type TemplateKey = Pick<TemplateText, 'templateId' | 'channel' | 'locale'>

/** What changes of a text: its highest version, and the one in use. */
export interface TextState {
  readonly latest: number
  readonly published: number | undefined
}

/** When a version was written, by whom and why. A text of the configuration has no author, a reserved one no time. */
export interface Authorship {
  /** Unix milliseconds. */
  readonly createdAt?: number
  /** The subject of the caller. */
  readonly createdBy?: string
  readonly comment?: string
}

/** A version of a text as it is stored. */
export interface StoredText extends TemplateText, Authorship {
  readonly published: boolean
}

/** A text without its words: the published version, or else the highest. */
export interface TextSummary extends TemplateKey, Authorship, TextState {
  readonly version: number
}

/** A version that is to be stored. */
export type NewText = Omit<TemplateText, 'version'> & Omit<Authorship, 'createdAt'>

/** Templates by channel and locale, each in versions. */
export interface Templates {
  listPublished(): Promise<ReadonlyArray<TemplateText & Authorship>>
  /** Every text, also those that are not published. */
  listSummaries(): Promise<readonly TextSummary[]>
  /** Every version of the texts of a template, newest first, and which are published. */
  listVersions(templateId: string): Promise<readonly StoredText[]>
  /**
   * Stores a new version and answers its number; publishes it unless told otherwise. Where a state is expected, only if it
   * is that: undefined if it is not.
   */
  save(text: NewText, publish: boolean, now: number, expected?: TextState): Promise<number | undefined>
  /** Makes a stored version the one in use. False when there is no such version, or another state is expected. */
  publish(key: TemplateKey, version: number, now: number, expected?: TextState): Promise<boolean>
  /** Takes a text out of use; its versions stay. */
  withdraw(key: TemplateKey): Promise<boolean>
}

/** Data that a template is tried with. */
export interface TemplateSample {
  readonly name: string
  readonly data: Data
}

/** The sample data of templates. */
export interface TemplateSamples {
  find(templateId: string): Promise<readonly TemplateSample[]>
  /** Replaces them; where some are expected, only as long as they are those. False if they are not. */
  put(
    templateId: string,
    samples: readonly TemplateSample[],
    now: number,
    expected?: readonly TemplateSample[],
  ): Promise<boolean>
}

/** Where a short link leads, and whose click it is. */
export interface StoredLink {
  readonly deliveryId: string
  readonly target: string
}

/** The short links of messages. They are written with the deliveries they belong to. */
export interface ShortLinks {
  /** The link of an id that has not expired at `now` (Unix milliseconds). */
  find(id: string, now: number): Promise<StoredLink | undefined>
}

/** A declared thing: its id among its kind, and what is declared of it. */
interface Declared<Entry> {
  readonly id: string
  readonly entry: Entry
}

interface DeclaredRecipient {
  readonly recipient: Recipient
  readonly devices: ReadonlyArray<Omit<Device, 'registeredAt' | 'deadAt'>>
}

/** Writes what the configuration declares where it was edited since it was last applied. */
export interface Declarations {
  templates(declared: ReadonlyArray<Declared<Omit<TemplateText, 'version'>>>, now: number): Promise<void>
  eventTypes(declared: ReadonlyArray<Declared<EventType>>, now: number): Promise<void>
  recipients(declared: ReadonlyArray<Declared<DeclaredRecipient>>, now: number): Promise<void>
}
