import type { EventType } from '../model/event-type.ts'

export interface EventTypes {
  /** Changes whenever an event type or a template does. */
  version(): Promise<number>
  list(): Promise<readonly EventType[]>
  put(eventType: EventType, now: number): Promise<void>
  remove(event: string): Promise<boolean>
}
