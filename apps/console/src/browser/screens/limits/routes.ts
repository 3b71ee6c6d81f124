import type { Screens } from '../../app/screens.ts'

/** The screens about tiers, policies and the limits of single callers. */
export const limits: Screens = {
  '/limits': async () => (await import('./limits.tsx')).LimitsScreen,
  '/limits/tiers/$name': async () => (await import('./limit.tsx')).TierScreen,
  '/limits/policies/$name': async () => (await import('./limit.tsx')).PolicyScreen,
}
