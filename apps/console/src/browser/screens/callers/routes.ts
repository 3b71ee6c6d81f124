import type { Screens } from '../../app/screens.ts'

/** The screens about callers and where their requests go. */
export const callers: Screens = {
  '/limits/callers': async () => (await import('./list/callers.tsx')).CallersScreen,
  '/limits/callers/$kind/$id': async () => (await import('./caller/caller.tsx')).CallerScreen,
  '/routes': async () => (await import('./routing/route-list.tsx')).RoutesScreen,
}
