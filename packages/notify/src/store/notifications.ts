import type { NotificationRecord } from '../model/notification.ts'

export interface Notifications {
  find(id: string): Promise<NotificationRecord | undefined>
}
