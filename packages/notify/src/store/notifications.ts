import type { NotificationRecord } from '../notification.ts'

export interface Notifications {
  find(id: string): Promise<NotificationRecord | undefined>
}
