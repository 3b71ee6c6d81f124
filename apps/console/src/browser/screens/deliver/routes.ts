import type { Screens } from '../../app/screens.ts'

/** The screens about notifications. */
export const deliver: Screens = {
  '/notifications': async () => (await import('./notifications.tsx')).FindNotificationScreen,
  '/notifications/$id': async () => (await import('./notification.tsx')).NotificationScreen,
  '/why': async () => (await import('./why.tsx')).WhyScreen,
}
