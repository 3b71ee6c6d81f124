import type { Screens } from '../../app/screens.ts'

/** The screens about what is sent: event types and templates. */
export const content: Screens = {
  '/event-types': async () => (await import('./event-types.tsx')).EventTypesScreen,
  '/event-types/$event': async () => (await import('./event-type.tsx')).EventTypeScreen,
  '/templates': async () => (await import('./templates.tsx')).TemplatesScreen,
  '/templates/$id/$channel/$locale': async () => (await import('./editor/text.tsx')).TextScreen,
}
