import type { Screens } from '../../app/screens.ts'

/** The screens about notifications. */
export const deliver: Screens = {
  '/notifications': async () => (await import('./notifications/screen.tsx')).NotificationsScreen,
  '/notifications/$id': async () => (await import('./notification/screen.tsx')).NotificationScreen,
  '/why': async () => (await import('./why/screen.tsx')).WhyScreen,
  '/send': async () => (await import('./send/screen.tsx')).SendScreen,
}
