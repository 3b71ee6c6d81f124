import type { Screens } from '../../app/screens.ts'

/** The screens about users. */
export const people: Screens = {
  '/users': async () => (await import('./users.tsx')).UsersScreen,
  '/users/$id': async () => (await import('./user/user.tsx')).UserScreen,
  '/sessions': async () => (await import('./sessions.tsx')).SessionsScreen,
}
