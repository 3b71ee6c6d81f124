import type { Screens } from '../../app/screens.ts'

/** The screens about figures, the first steps and the state of the installation. */
export const measure: Screens = {
  '/': async () => (await import('./overview.tsx')).OverviewScreen,
  '/start': async () => (await import('./start.tsx')).StartScreen,
  '/deliverability': async () => (await import('./deliverability.tsx')).DeliverabilityScreen,
  '/system': async () => (await import('./system.tsx')).SystemScreen,
}
