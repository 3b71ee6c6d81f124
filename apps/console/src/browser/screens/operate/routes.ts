import type { Screens } from '../../app/screens.ts'

/** The screens about the operation of Gatehouse. */
export const operate: Screens = {
  '/audit': async () => (await import('./audit.tsx')).AuditScreen,
  '/administrators': async () => (await import('./administrators.tsx')).AdministratorsScreen,
  '/settings': async () => (await import('./settings.tsx')).SettingsScreen,
}
