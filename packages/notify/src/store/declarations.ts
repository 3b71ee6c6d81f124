import type { EventType } from '../model/event-type.ts'
import type { TemplateText } from '../templates/template.ts'
import type { Device, Recipient } from './users.ts'

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
