/**
 * A server goes on after a fault in one of its handlers: no datagram, request or report ends the process. Whatever nobody
 * caught is told to `report`. Returns the way to stop.
 */
export function keepRunning(report: (thrown: unknown) => void): Disposable {
  process.on('unhandledRejection', report);
  process.on('uncaughtException', report);
  return {
    [Symbol.dispose]: () => {
      process.off('unhandledRejection', report);
      process.off('uncaughtException', report);
    },
  };
}
