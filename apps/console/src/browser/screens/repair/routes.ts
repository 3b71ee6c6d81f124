import type { Screens } from '../../app/screens.ts'

/** The screens about what failed, waits or is held back. */
export const repair: Screens = {
  '/dead-letters': async () => (await import('./dead-letters.tsx')).DeadLettersScreen,
  '/scheduled': async () => (await import('./scheduled.tsx')).ScheduledScreen,
  '/providers': async () => (await import('./providers.tsx')).ProvidersScreen,
  '/providers/$name': async () => (await import('./provider.tsx')).ProviderScreen,
  '/suppressions': async () => (await import('./suppressions.tsx')).SuppressionsScreen,
}
