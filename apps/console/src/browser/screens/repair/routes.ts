import type { Screens } from '../../app/screens.ts'

/** The screens about what failed, waits or is held back. */
export const repair: Screens = {
  '/dead-letters': async () => (await import('./letters/dead-letters.tsx')).DeadLettersScreen,
  '/scheduled': async () => (await import('./queues/scheduled.tsx')).ScheduledScreen,
  '/providers': async () => (await import('./providers/providers.tsx')).ProvidersScreen,
  '/providers/$name': async () => (await import('./providers/provider.tsx')).ProviderScreen,
  '/suppressions': async () => (await import('./suppressions/suppressions.tsx')).SuppressionsScreen,
}
