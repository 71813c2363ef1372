#include "watersmeet/slice/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "watersmeet/slice/spsc_queue.h"

namespace watersmeet {
namespace {

TEST(WorkerPool, EveryWorkerDoesEveryTaskOnceAndTheCallerIsOneOfThem) {
  for (const std::size_t workers : {1, 2, 3, 5}) {
    WorkerPool pool(workers);
    std::vector<int> done(workers, 0);
    for (int round = 1; round <= 200; ++round) {
      if (round % 3 == 0) pool.rouse();
      if (round % 50 == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // all have gone to sleep
      std::thread::id first;
      pool.run(
          [&](std::size_t worker) {
            ++done[worker];
            if (worker == 0) first = std::this_thread::get_id();
          },
          {});
      EXPECT_EQ(first, std::this_thread::get_id());
      EXPECT_EQ(done, std::vector<int>(workers, round));
    }
  }
}

TEST(WorkerPool, TheCallerPollsWhileItWaitsForOthers) {
  WorkerPool pool(2);
  std::atomic<bool> polled{false};
  pool.run(
      [&](std::size_t worker) {
        while (worker == 1 && !polled.load()) std::this_thread::yield();
      },
      [&] { polled.store(true); });
  EXPECT_TRUE(polled.load());
}

TEST(WorkerPool, RousedWorkersThatGetNoTaskSleepAgainAndEnd) {
  WorkerPool pool(3);
  for (int call = 0; call < 5; ++call) {
    pool.rouse();
    std::this_thread::sleep_for(std::chrono::milliseconds(call));
  }
}

TEST(SpscQueue, ItemsLeaveInOrderWhetherTheConsumerLooksOrSleeps) {
  for (const auto patience : {std::chrono::nanoseconds(0), std::chrono::nanoseconds(20'000)}) {
    SpscQueue<int> queue;
    constexpr int kItems = 3000;
    std::thread producer([&queue] {
      for (int item = 0; item < kItems; ++item) {
        if (item % 1000 == 999) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        queue.push(item);
      }
    });
    int expected = 0;
    while (expected < kItems) {
      int item = -1;
      if (queue.pop(item)) {
        ASSERT_EQ(item, expected);
        ++expected;
      } else {
        queue.wait(patience, [] { return false; });
      }
    }
    producer.join();
    EXPECT_TRUE(queue.empty());
  }
}

TEST(SpscQueue, AWordFromOutsideEndsTheSleep) {
  SpscQueue<int> queue;
  std::atomic<bool> over{false};
  std::thread consumer([&] {
    while (!over.load()) queue.wait(std::chrono::nanoseconds(0), [&] { return over.load(); });
  });
  over.store(true);
  queue.wake();
  consumer.join();
}

}  // namespace
}  // namespace watersmeet
